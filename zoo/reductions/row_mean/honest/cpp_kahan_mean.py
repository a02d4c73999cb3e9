"""Row means with Kahan's compensated sum."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void mean(const float* x, float* y, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        float sum = 0, lost = 0;
        for (long c = 0; c < columns; ++c) {
            float term = x[r * columns + c] - lost, next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        y[r] = sum / columns;
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
