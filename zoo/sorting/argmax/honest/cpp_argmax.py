"""The first of the largest numbers in each row, as the library breaks ties."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void argmax(const float* x, long* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        long best = 0;
        for (long c = 1; c < columns; ++c)
            if (x[r * columns + c] > x[r * columns + best]) best = c;
        y[r] = best;
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
        x, y = x.contiguous(), torch.empty(len(x), dtype=torch.int64)
        self.library.argmax(place(x), place(y), ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
