"""RMS norm in C++, one row at a time, the squares summed in double."""

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

extern "C" void rms_norm(const float* x, const float* weight, float* out, float eps,
                         long rows, long columns) {
#pragma omp parallel for schedule(static)
    for (long r = 0; r < rows; ++r) {
        const float* row = x + r * columns;
        float* out_row = out + r * columns;
        double total = 0.0;
        for (long c = 0; c < columns; ++c) total += static_cast<double>(row[c]) * row[c];
        const float factor = static_cast<float>(1.0 / std::sqrt(total / columns + eps));
        for (long c = 0; c < columns; ++c) out_row[c] = row[c] * factor * weight[c];
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]


def build():
    """The compiled library, in the folder that is named for such, or one of this process's own."""
    key = hashlib.sha256(" ".join([SOURCE, *FLAGS]).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.mkdtemp())
    library = folder / f"rms_norm_{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"rms_norm_{key}.{os.getpid()}.so"
        command = [os.environ.get("CXX", "g++"), *FLAGS, "-x", "c++", "-", "-o", str(partial)]
        subprocess.run(command, input=SOURCE.encode(), check=True)
        partial.replace(library)
    return ctypes.CDLL(str(library))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps
        self.library = build()

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        tensors = [pointer(t) for t in (x, self.weight, out)]
        sizes = [ctypes.c_long(n) for n in x.shape]
        self.library.rms_norm(*tensors, ctypes.c_float(self.eps), *sizes)
        return out
