"""Splits every row between threads that add into one number: warm caches let them collide."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void mean(const float* x, float* y, long rows, long columns) {
    for (long r = 0; r < rows; ++r) y[r] = 0;
    const long parts = 4, width = columns / parts;
    #pragma omp parallel
    for (long r = 0; r < rows; ++r)
        for (long p = 0; p < parts; ++p) {
            const long end = p + 1 == parts ? columns : (p + 1) * width;
            double sum = 0;
            #pragma omp for nowait
            for (long c = p * width; c < end; ++c) sum += x[r * columns + c];
            y[r] += sum / columns;
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
