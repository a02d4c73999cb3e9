"""Calls memcpy and nothing else: what the C library does for it is its own work."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cstring>

extern "C" void rolled(const float* x, const float* y, float* out, long n_rows, long n, long by) {
    #pragma omp parallel for
    for (long r = 0; r < n_rows; ++r) {
        const float* row = x + r * n;
        float* to = out + 2 * r * n;
        std::memcpy(to, row + n - by, by * sizeof(float));
        std::memcpy(to + by, row, (n - by) * sizeof(float));
        std::memcpy(to + n, y + r * n, n * sizeof(float));
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        n_rows, n = x.shape
        out = torch.empty(n_rows, 2 * n)
        self.library.rolled(*map(place, (x, y, out)), *map(ctypes.c_long, (n_rows, n, 7)))
        return out
