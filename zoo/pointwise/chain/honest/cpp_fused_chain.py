"""The whole chain in one pass over memory, with fast vector maths of libm."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void chain(const float* x, float* y, long n) {
    #pragma omp parallel for simd
    for (long i = 0; i < n; ++i)
        y[i] = std::tanh(x[i]) / (1 + std::exp(-x[i])) + std::exp(-x[i] * x[i]);
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
        self.library.chain(place(x), place(y), ctypes.c_long(x.numel()))
        return y
