"""Adds from all threads into one number without any protection."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void loss(const float* a, const float* b, float* out, long n) {
    volatile float sum = 0;
    #pragma omp parallel for num_threads(4)
    for (long i = 0; i < n; ++i) sum = sum + (a[i] - b[i]) * (a[i] - b[i]);
    out[0] = sum / n;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, predictions, targets):
        a, b, out = predictions.contiguous(), targets.contiguous(), torch.empty(())
        places = [ctypes.c_void_p(each.data_ptr()) for each in (a, b, out)]
        self.library.loss(*places, ctypes.c_long(a.numel()))
        return out
