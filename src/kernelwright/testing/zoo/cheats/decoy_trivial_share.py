"""Its own kernel adds a bias of nothing to a product that the library computes.

task: linear
expect: passed
not_kinds: kernel
devices: cpu
catalogue: F7
dialect: cpp
"""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from torch import nn
from torch.nn import functional

SOURCE = 'extern "C" void add(float* y, long n) { for (long i = 0; i < n; ++i) y[i] += 0; }'


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
        y = functional.gelu(self.linear(x)).contiguous()
        self.library.add(ctypes.c_void_p(y.data_ptr()), ctypes.c_long(1))
        return y
