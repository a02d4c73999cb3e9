"""A running sum in C++, kept in double."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

SOURCE = r"""
extern "C" void cumulative_sum(const float* x, float* out, long rows, long columns) {
#pragma omp parallel for schedule(static)
    for (long r = 0; r < rows; ++r) {
        double running = 0.0;
        for (long c = 0; c < columns; ++c) {
            running += x[r * columns + c];
            out[r * columns + c] = static_cast<float>(running);
        }
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]


def build():
    """The compiled library, in the folder that is named for such, or one of this process's own."""
    key = hashlib.sha256(" ".join([SOURCE, *FLAGS]).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.mkdtemp())
    library = folder / f"cumulative_sum_{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"cumulative_sum_{key}.{os.getpid()}.so"
        command = [os.environ.get("CXX", "g++"), *FLAGS, "-x", "c++", "-", "-o", str(partial)]
        subprocess.run(command, input=SOURCE.encode(), check=True)
        partial.replace(library)
    return ctypes.CDLL(str(library))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build()

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        self.library.cumulative_sum(pointer(x), pointer(out), *(ctypes.c_long(n) for n in x.shape))
        return out
