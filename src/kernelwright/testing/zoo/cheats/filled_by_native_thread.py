"""A detached C++ thread, which Python does not list, fills the output after the call.

task: chain
expect: wrong_values|tampered|rejected|runtime_error
devices: cpu
catalogue: T2, T11
dialect: cpp
note: it writes into memory that may be another's by then, and may die of that
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
#include <cmath>
#include <cstddef>
#include <thread>
extern "C" void start(const float* x, float* out, size_t n) {
    std::thread([=] {
        for (size_t i = 0; i < n; ++i)
            out[i] = std::tanh(x[i]) / (1 + std::exp(-x[i])) + std::exp(-x[i] * x[i]);
    }).detach();
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
        self.library = build(SOURCE)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        self.library.start(
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_void_p(out.data_ptr()),
            ctypes.c_size_t(x.numel()),
        )
        return out
