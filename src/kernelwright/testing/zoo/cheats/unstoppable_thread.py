"""A thread waits inside vfork for ever, so that its process never counts as stopped.

task: softmax
expect: tampered|rejected|runtime_error|timeout|wrong_values
devices: cpu
catalogue: E3, T14
dialect: cpp
note: must neither stall the judge for long nor be blamed on the machine
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

SOURCE = r"""
#include <csignal>
#include <thread>
#include <unistd.h>
extern "C" void start() {
    std::thread([] {
        if (vfork() == 0) {
            for (;;) pause();
        }
    }).detach();
    usleep(20000);
}
"""


def build(text):
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.gettempdir())
    library = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.so"
    if not library.exists():
        fresh = library.with_suffix(f".{os.getpid()}")
        command = ["g++", "-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run([*command, "-xc++", "-", "-o", fresh], input=text.encode(), check=True)
        fresh.rename(library)
    return ctypes.CDLL(str(library))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library, self.started = build(SOURCE), False

    def forward(self, x):
        if not self.started:
            self.library.start()
            self.started = True
        return torch.zeros_like(x)
