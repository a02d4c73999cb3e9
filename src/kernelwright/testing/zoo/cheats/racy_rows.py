"""Splits every row between threads that add into one number: warm caches let them collide.

task: row_mean
expect: wrong_values
devices: cpu
catalogue: C18
dialect: cpp
note: a collision loses a part of one row, once in some calls; warm caches make it likelier
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
    for (long r = 0; r < rows; ++r) y[r] = 0;
    const long parts = 4, width = columns / parts;
    #pragma omp parallel
    for (long r = 0; r < rows; ++r)
        for (long p = 0; p < parts; ++p) {
            const long end = p + 1 == parts ? columns : (p + 1) * width;
            double sum = 0;
            #pragma omp for nowait
            for (long c = p * width; c < end; ++c) sum += x[r * columns + c];
            y[r] += sum / columns;
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
