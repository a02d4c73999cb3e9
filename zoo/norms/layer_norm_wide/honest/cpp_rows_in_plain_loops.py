"""A layer norm whose sums are plain loops: a row's numbers one after the other, in float32."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void norm(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float mean = 0, squares = 0;
        for (long c = 0; c < columns; ++c) mean += in[c];
        mean /= columns;
        for (long c = 0; c < columns; ++c) squares += (in[c] - mean) * (in[c] - mean);
        const float scale = 1 / std::sqrt(squares / columns + 1e-5f);
        for (long c = 0; c < columns; ++c) y[r * columns + c] = (in[c] - mean) * scale;
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x):
        x, y = x.contiguous(), torch.empty(x.shape)
        self.library.norm(place(x), place(y), ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
