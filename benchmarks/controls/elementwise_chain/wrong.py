"""Wrong: the columns are walked in tiles of 96, and the last, partial tile is left out."""

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

extern "C" void chain(const float* x, const float* scale, const float* shift, float* out,
                      long rows, long columns) {
#pragma omp parallel for schedule(static)
    for (long r = 0; r < rows; ++r) {
        const float* row = x + r * columns;
        double total = 0.0;
        for (long start = 0; start + 96 <= columns; start += 96) {
            for (long c = start; c < start + 96; ++c) {
                float h = row[c] * scale[c] + shift[c];
                h = h / (1.0f + std::exp(-h));
                h = std::tanh(h) + row[c];
                h = h > 0.0f ? h : 0.1f * h;
                total += h * h;
            }
        }
        out[r] = static_cast<float>(total);
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]


def build():
    """The compiled library, in the folder that is named for such, or one of this process's own."""
    key = hashlib.sha256(" ".join([SOURCE, *FLAGS]).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.mkdtemp())
    library = folder / f"elementwise_chain_{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"elementwise_chain_{key}.{os.getpid()}.so"
        command = [os.environ.get("CXX", "g++"), *FLAGS, "-x", "c++", "-", "-o", str(partial)]
        subprocess.run(command, input=SOURCE.encode(), check=True)
        partial.replace(library)
    return ctypes.CDLL(str(library))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))
        self.shift = nn.Parameter(torch.randn(columns))
        self.library = build()

    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        out = torch.empty(rows, dtype=x.dtype)
        tensors = [pointer(t) for t in (x, self.scale, self.shift, out)]
        self.library.chain(*tensors, ctypes.c_long(rows), ctypes.c_long(columns))
        return out
