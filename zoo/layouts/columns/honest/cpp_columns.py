"""Walks a transposed input as it lies, a column of outputs at a time."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void columns(const float* x, float* y, long n, long m, long across, long down) {
    #pragma omp parallel for
    for (long j = 0; j < m; ++j) {
        const float* in = x + j * across;
        float most = -INFINITY;
        double sum = 0;
        for (long i = 0; i < n; ++i) most = std::fmax(most, in[i * down]);
        for (long i = 0; i < n; ++i) sum += std::exp(in[i * down] - most);
        float shift = most + std::log(sum);
        for (long i = 0; i < n; ++i) y[i + j * n] = in[i * down] - shift;
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
        n, m = x.shape
        y = torch.empty_strided((n, m), (1, n))
        down, across = x.stride()
        sizes = (ctypes.c_long(each) for each in (n, m, across, down))
        self.library.columns(place(x), place(y), *sizes)
        return y
