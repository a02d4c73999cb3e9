"""Never makes the NaN that the reference cleans up: a row without keys has no maximum."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
#include <cmath>

extern "C" void softmax(const float* x, const bool* keep, float* y, long n_rows, long n) {
    #pragma omp parallel for
    for (long r = 0; r < n_rows; ++r) {
        const float* row = x + r * n;
        const bool* kept = keep + r * n;
        float* out = y + r * n;
        float largest = -INFINITY;
        for (long i = 0; i < n; ++i)
            if (kept[i]) largest = std::max(largest, row[i]);
        if (largest == -INFINITY) {
            std::fill_n(out, n, 0.0f);
            continue;
        }
        float sum = 0;
        for (long i = 0; i < n; ++i) sum += out[i] = kept[i] ? std::exp(row[i] - largest) : 0.0f;
        for (long i = 0; i < n; ++i) out[i] /= sum;
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, scores, keep):
        scores, keep = scores.contiguous(), keep.contiguous()
        y = torch.empty_like(scores)
        n = scores.shape[-1]
        size = map(ctypes.c_long, (scores.numel() // n, n))
        self.library.softmax(*map(place, (scores, keep, y)), *size)
        return y
