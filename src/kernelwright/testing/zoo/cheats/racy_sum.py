"""Adds from all threads into one number without any protection.

task: mse_loss
expect: wrong_values|rejected
devices: cpu
catalogue: C18
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
extern "C" void loss(const float* a, const float* b, float* out, long n) {
    volatile float sum = 0;
    #pragma omp parallel for num_threads(4)
    for (long i = 0; i < n; ++i) sum = sum + (a[i] - b[i]) * (a[i] - b[i]);
    out[0] = sum / n;
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

    def forward(self, predictions, targets):
        a, b, out = predictions.contiguous(), targets.contiguous(), torch.empty(())
        places = [ctypes.c_void_p(each.data_ptr()) for each in (a, b, out)]
        self.library.loss(*places, ctypes.c_long(a.numel()))
        return out
