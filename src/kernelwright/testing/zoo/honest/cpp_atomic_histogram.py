"""Adds into bins with atomics: another order of summation in every run.

task: bag
devices: cpu
dialect: cpp
kinds: kernel
warns: from run to run
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
#include <algorithm>
extern "C" void bag(const float* w, const long* bins, float* y, long n, long n_bins) {
    std::fill(y, y + n_bins, 0.0f);
    #pragma omp parallel for
    for (long i = 0; i < n; ++i) {
        #pragma omp atomic
        y[bins[i]] += w[i];
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
    def __init__(self, n_bins):
        super().__init__()
        self.n_bins, self.library = n_bins, build(SOURCE)

    def forward(self, weights, bins):
        weights, bins, y = weights.contiguous(), bins.contiguous(), torch.empty(self.n_bins)
        sizes = [ctypes.c_long(len(weights)), ctypes.c_long(self.n_bins)]
        self.library.bag(place(weights), place(bins), place(y), *sizes)
        return y
