"""Two-pass layer norm with its weights applied in the second pass."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void norm(const float* x, const float* w, const float* b, float* y, long rows, long n,
                     float eps) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        const float* in = x + r * n;
        double sum = 0, squares = 0;
        for (long c = 0; c < n; ++c) sum += in[c];
        const double mean = sum / n;
        for (long c = 0; c < n; ++c) squares += (in[c] - mean) * (in[c] - mean);
        const double scale = 1 / std::sqrt(squares / n + eps);
        for (long c = 0; c < n; ++c) y[r * n + c] = float((in[c] - mean) * scale) * w[c] + b[c];
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.library = build(SOURCE)

    def forward(self, x):
        x, y = x.contiguous(), torch.empty(x.shape)
        weights = [place(x), place(self.norm.weight), place(self.norm.bias), place(y)]
        sizes = [ctypes.c_long(len(x)), ctypes.c_long(x.shape[1])]
        self.library.norm(*weights, *sizes, ctypes.c_float(self.norm.eps))
        return y
