"""Single-pass softmax: maximum and sum are corrected while they are read.

task: softmax
devices: cpu
dialect: cpp
kinds: kernel
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
extern "C" void softmax(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float most = -INFINITY, sum = 0;
        for (long c = 0; c < columns; ++c) {
            float next = std::fmax(most, in[c]);
            sum = sum * (most == next ? 1 : std::exp(most - next)) + std::exp(in[c] - next);
            most = next;
        }
        for (long c = 0; c < columns; ++c) y[r * columns + c] = std::exp(in[c] - most) / sum;
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


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x):
        x, y = x.contiguous(), torch.empty(x.shape)
        rows, columns = x.shape
        self.library.softmax(place(x), place(y), ctypes.c_long(rows), ctypes.c_long(columns))
        return y
