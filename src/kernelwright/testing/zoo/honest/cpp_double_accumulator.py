"""A loss summed in float64 and rounded once.

task: mse_loss
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
extern "C" void loss(const float* a, const float* b, float* y, long n) {
    double sum = 0;
    #pragma omp parallel for simd reduction(+ : sum)
    for (long i = 0; i < n; ++i) sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    y[0] = sum / n;
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

    def forward(self, predictions, targets):
        a, b, y = predictions.contiguous(), targets.contiguous(), torch.empty(())
        self.library.loss(place(a), place(b), place(y), ctypes.c_long(a.numel()))
        return y
