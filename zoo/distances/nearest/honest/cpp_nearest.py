"""Nearest rows by differences, one vector at a time, the distances never stored."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
extern "C" void nearest(const float* x, const float* codes, long* out, long n, long m, long d) {
    #pragma omp parallel for
    for (long i = 0; i < n; ++i) {
        float least = INFINITY;
        long place = 0;
        for (long j = 0; j < m; ++j) {
            float sum = 0;
            #pragma omp simd reduction(+ : sum)
            for (long k = 0; k < d; ++k) {
                float gap = x[i * d + k] - codes[j * d + k];
                sum += gap * gap;
            }
            if (sum < least) { least = sum; place = j; }
        }
        out[i] = place;
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, n_codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.empty(n_codes, width))
        self.library = build(SOURCE)

    def forward(self, x):
        x, codes = x.contiguous(), self.codes.contiguous()
        out = torch.empty(len(x), dtype=torch.int64)
        sizes = (ctypes.c_long(each) for each in (*x.shape, len(codes)))
        n, d, m = sizes
        self.library.nearest(place(x), place(codes), place(out), n, m, d)
        return out
