"""Adds into bins with atomics: another order of summation in every run."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
extern "C" void bag(const float* w, const long* bins, float* y, long n, long n_bins) {
    std::fill(y, y + n_bins, 0.0f);
    #pragma omp parallel for
    for (long i = 0; i < n; ++i) {
        #pragma omp atomic
        y[bins[i]] += w[i];
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, n_bins):
        super().__init__()
        self.n_bins, self.library = n_bins, build(SOURCE)

    def forward(self, weights, bins):
        weights, bins, y = weights.contiguous(), bins.contiguous(), torch.empty(self.n_bins)
        sizes = [ctypes.c_long(len(weights)), ctypes.c_long(self.n_bins)]
        self.library.bag(place(weights), place(bins), place(y), *sizes)
        return y
