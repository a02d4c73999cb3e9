"""ReLU by comparison the other way round: NaN becomes zero, which a warning must say."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void relu(const float* x, float* y, long n) {
    #pragma omp parallel for simd
    for (long i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
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
        self.library.relu(place(x), place(y), ctypes.c_long(x.numel()))
        return y
