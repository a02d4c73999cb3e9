"""Single-pass softmax: maximum and sum are corrected while they are read."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void softmax(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float most = -INFINITY, sum = 0;
        for (long c = 0; c < columns; ++c) {
            float next = std::fmax(most, in[c]);
            sum = sum * (most == next ? 1 : std::exp(most - next)) + std::exp(in[c] - next);
            most = next;
        }
        for (long c = 0; c < columns; ++c) y[r * columns + c] = std::exp(in[c] - most) / sum;
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
        rows, columns = x.shape
        self.library.softmax(place(x), place(y), ctypes.c_long(rows), ctypes.c_long(columns))
        return y
