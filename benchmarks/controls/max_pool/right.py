"""Max pooling in C++, one plane per thread at a time."""

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
#include <cmath>

extern "C" void max_pool(const float* x, float* out, long planes, long height, long width) {
    const long out_height = (height - 1) / 2 + 1, out_width = (width - 1) / 2 + 1;
#pragma omp parallel for schedule(static)
    for (long p = 0; p < planes; ++p) {
        const float* plane = x + p * height * width;
        float* out_plane = out + p * out_height * out_width;
        for (long i = 0; i < out_height; ++i) {
            for (long j = 0; j < out_width; ++j) {
                float best = -INFINITY;
                for (long y = std::max(2 * i - 1, 0L); y < std::min(2 * i + 2, height); ++y) {
                    for (long c = std::max(2 * j - 1, 0L); c < std::min(2 * j + 2, width); ++c) {
                        const float value = plane[y * width + c];
                        // A NaN stays: it is what torch returns.
                        if (value > best || std::isnan(value)) best = value;
                    }
                }
                out_plane[i * out_width + j] = best;
            }
        }
    }
}
"""

FLAGS = ["-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]


def build():
    """The compiled library, in the folder that is named for such, or one of this process's own."""
    key = hashlib.sha256(" ".join([SOURCE, *FLAGS]).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.mkdtemp())
    library = folder / f"max_pool_{key}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"max_pool_{key}.{os.getpid()}.so"
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
        batch, channels, height, width = x.shape
        out = torch.empty(batch, channels, (height - 1) // 2 + 1, (width - 1) // 2 + 1)
        sizes = [ctypes.c_long(n) for n in (batch * channels, height, width)]
        self.library.max_pool(pointer(x), pointer(out), *sizes)
        return out
