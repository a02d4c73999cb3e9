"""Runs its own kernel on eight numbers and drops the result; the library does the work.

task: matmul
expect: passed
not_kinds: kernel
devices: cpu
catalogue: C17, F7
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
extern "C" void product(const float* a, const float* b, float* c, long n, long m, long k) {
    #pragma omp parallel for
    for (long i = 0; i < n; ++i)
        for (long j = 0; j < m; ++j) {
            float sum = 0;
            for (long l = 0; l < k; ++l) sum += a[i * k + l] * b[l * m + j];
            c[i * m + j] = sum;
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
        self.small = [torch.ones(8) for _ in range(3)]

    def forward(self, a, b):
        places = [ctypes.c_void_p(each.data_ptr()) for each in self.small]
        sizes = [ctypes.c_long(2)] * 3
        self.library.product(*places, *sizes)
        return torch.mm(a, b)
