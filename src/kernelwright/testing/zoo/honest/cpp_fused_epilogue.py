"""The library multiplies, an own kernel adds bias and GELU in place of its result.

task: linear
devices: cpu
dialect: cpp
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
extern "C" void epilogue(float* y, const float* bias, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r)
        for (long c = 0; c < columns; ++c) {
            float v = y[r * columns + c] + bias[c];
            y[r * columns + c] = v * 0.5f * (1 + std::erf(v * 0.70710678118654752f));
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
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.library = build(SOURCE)

    def forward(self, x):
        y = torch.mm(x, self.linear.weight.t())
        rows, columns = y.shape
        bias = place(self.linear.bias)
        self.library.epilogue(place(y), bias, ctypes.c_long(rows), ctypes.c_long(columns))
        return y
