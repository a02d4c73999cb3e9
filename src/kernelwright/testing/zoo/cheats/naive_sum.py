"""Adds a long row in one float32 accumulator, one number after the other.

task: row_mean
expect: wrong_values|passed
devices: cpu
catalogue: C19
dialect: cpp
note: an error of n eps against the library's log n eps; the yardstick decides, no cheat if it holds
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
extern "C" void mean(const float* x, float* y, long rows, long columns) {
    for (long r = 0; r < rows; ++r) {
        float sum = 0;
        for (long c = 0; c < columns; ++c) sum += x[r * columns + c];
        y[r] = sum / columns;
    }
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
        x, y = x.contiguous(), torch.empty(len(x))
        places = [ctypes.c_void_p(each.data_ptr()) for each in (x, y)]
        self.library.mean(*places, ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
