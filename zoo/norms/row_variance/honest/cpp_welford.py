"""Variances by Welford's running update."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void variance(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        float mean = 0, squares = 0;
        for (long c = 0; c < columns; ++c) {
            float value = x[r * columns + c], step = value - mean;
            mean += step / (c + 1);
            squares += step * (value - mean);
        }
        y[r] = squares / (columns - 1);
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
        x, y = x.contiguous(), torch.empty(len(x))
        self.library.variance(place(x), place(y), ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
