"""Returns the zeros that a degenerate task always gives, with a kernel of its own.

task: always_zero
expect: passed|rejected|wrong_values
not_kinds: kernel
warns: constant|degenerate
devices: cpu
catalogue: C6
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

SOURCE = 'extern "C" void fill(float* y, long n) { for (long i = 0; i < n; ++i) y[i] = 0; }'


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
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.library = build(SOURCE)

    def forward(self, x):
        y = torch.empty(len(x), 1)
        self.library.fill(ctypes.c_void_p(y.data_ptr()), ctypes.c_long(y.numel()))
        return y
