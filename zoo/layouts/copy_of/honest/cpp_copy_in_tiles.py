"""Transposes in tiles that fit the first cache, past the caches where it can."""

import ctypes

from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
extern "C" void turn(const float* x, float* y, long n, long m) {
    const long tile = 32;
    #pragma omp parallel for collapse(2)
    for (long i = 0; i < n; i += tile)
        for (long j = 0; j < m; j += tile)
            for (long b = j; b < std::min(j + tile, m); ++b)
                for (long a = i; a < std::min(i + tile, n); ++a) y[b * n + a] = x[a * m + b];
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x):
        x = x.contiguous()
        y = x.new_empty(x.shape[1], x.shape[0])
        self.library.turn(place(x), place(y), *(ctypes.c_long(each) for each in x.shape))
        return y
