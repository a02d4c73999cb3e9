"""Cumulative sums in two passes: blocks first, then what came before each."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
extern "C" void scan(const float* x, float* y, long rows, long columns) {
    const long T = 128;
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        const float* in = x + r * columns;
        float* out = y + r * columns;
        float before = 0;
        for (long c0 = 0; c0 < columns; c0 += T) {
            float sum = 0;
            for (long c = c0; c < std::min(c0 + T, columns); ++c) {
                sum += in[c];
                out[c] = before + sum;
            }
            before += sum;
        }
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
        self.library.scan(place(x), place(y), ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
