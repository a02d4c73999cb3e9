"""Attention in one pass over the keys, with a running maximum and sum."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <cmath>
#include <vector>
extern "C" void attend(const float* q, const float* k, const float* v, float* y, long heads,
                       long n, long d) {
    #pragma omp parallel for collapse(2)
    for (long h = 0; h < heads; ++h)
        for (long i = 0; i < n; ++i) {
            const float* one = q + (h * n + i) * d;
            std::vector<float> out(d, 0.0f);
            float most = -INFINITY, sum = 0, scale = 1 / std::sqrt((float)d);
            for (long j = 0; j <= i; ++j) {
                float score = 0;
                for (long c = 0; c < d; ++c) score += one[c] * k[(h * n + j) * d + c];
                score *= scale;
                float next = std::fmax(most, score);
                float keep = most == next ? 1 : std::exp(most - next);
                float share = std::exp(score - next);
                sum = sum * keep + share;
                for (long c = 0; c < d; ++c)
                    out[c] = out[c] * keep + share * v[(h * n + j) * d + c];
                most = next;
            }
            for (long c = 0; c < d; ++c) y[(h * n + i) * d + c] = out[c] / sum;
        }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, q, k, v):
        q, k, v, y = q.contiguous(), k.contiguous(), v.contiguous(), torch.empty(q.shape)
        heads, (n, d) = q.shape[0] * q.shape[1], q.shape[2:]
        sizes = [ctypes.c_long(each) for each in (heads, n, d)]
        self.library.attend(place(q), place(k), place(v), place(y), *sizes)
        return y
