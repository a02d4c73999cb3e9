"""A loss summed in float64 and rounded once."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void loss(const float* a, const float* b, float* y, long n) {
    double sum = 0;
    #pragma omp parallel for simd reduction(+ : sum)
    for (long i = 0; i < n; ++i) sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    y[0] = sum / n;
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, predictions, targets):
        a, b, y = predictions.contiguous(), targets.contiguous(), torch.empty(())
        self.library.loss(place(a), place(b), place(y), ctypes.c_long(a.numel()))
        return y
