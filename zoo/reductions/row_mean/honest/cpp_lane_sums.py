"""Row means with sixteen lanes of partial sums, as a vector unit adds them."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void mean(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        float lanes[16] = {0}, sum = 0;
        long c = 0;
        for (; c + 16 <= columns; c += 16)
            for (int l = 0; l < 16; ++l) lanes[l] += x[r * columns + c + l];
        for (; c < columns; ++c) lanes[0] += x[r * columns + c];
        for (int step = 8; step; step /= 2)
            for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
        y[r] = lanes[0] / columns;
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
        self.library.mean(place(x), place(y), ctypes.c_long(len(x)), ctypes.c_long(x.shape[1]))
        return y
