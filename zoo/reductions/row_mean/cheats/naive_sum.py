"""Adds a long row in one float32 accumulator, one number after the other."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void mean(const float* x, float* y, long rows, long columns) {
    for (long r = 0; r < rows; ++r) {
        float sum = 0;
        for (long c = 0; c < columns; ++c) sum += x[r * columns + c];
        y[r] = sum / columns;
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, x):
        x, y = x.contiguous(), torch.empty(len(x))
        places = [ctypes.c_void_p(each.data_ptr()) for each in (x, y)]
        self.library.mean(*places, ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
