"""Its kernel walks any strides, so that it takes inputs as they come."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void negate(const float* x, float* y, long n, long m, long s, long t) {
    #pragma omp parallel for
    for (long i = 0; i < n; ++i)
        for (long j = 0; j < m; ++j) y[i * m + j] = -x[i * s + j * t];
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x):
        y = torch.empty(x.shape)
        numbers = [ctypes.c_long(each) for each in (*x.shape, *x.stride())]
        self.library.negate(place(x), place(y), *numbers)
        return y
