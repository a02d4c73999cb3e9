"""The library multiplies, an own kernel adds bias and GELU in place of its result."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void epilogue(float* y, const float* bias, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r)
        for (long c = 0; c < columns; ++c) {
            float v = y[r * columns + c] + bias[c];
            y[r * columns + c] = v * 0.5f * (1 + std::erf(v * 0.70710678118654752f));
        }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.library = build(SOURCE)

    def forward(self, x):
        y = torch.mm(x, self.linear.weight.t())
        rows, columns = y.shape
        bias = place(self.linear.bias)
        self.library.epilogue(place(y), bias, ctypes.c_long(rows), ctypes.c_long(columns))
        return y
