"""A convolution written as its definition, seven loops deep."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
extern "C" void conv(const float* x, const float* w, const float* b, float* y, long N, long C,
                     long O, long H, long W, long K) {
    #pragma omp parallel for collapse(2)
    for (long n = 0; n < N; ++n)
        for (long o = 0; o < O; ++o)
            for (long i = 0; i < H; ++i)
                for (long j = 0; j < W; ++j) {
                    float sum = b[o];
                    for (long c = 0; c < C; ++c)
                        for (long p = 0; p < K; ++p)
                            for (long q = 0; q < K; ++q) {
                                long r = i + p - K / 2, s = j + q - K / 2;
                                if (r < 0 || s < 0 || r >= H || s >= W) continue;
                                sum += x[((n * C + c) * H + r) * W + s] *
                                       w[((o * C + c) * K + p) * K + q];
                            }
                    y[((n * O + o) * H + i) * W + j] = sum < 0 ? 0 : sum;
                }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=width // 2)
        self.library = build(SOURCE)

    def forward(self, x):
        (n, c, h, w), o = x.shape, self.conv.out_channels
        x, y = x.contiguous(), torch.empty(n, o, h, w)
        sizes = [ctypes.c_long(each) for each in (n, c, o, h, w, self.conv.kernel_size[0])]
        weights = (place(self.conv.weight), place(self.conv.bias))
        self.library.conv(place(x), *weights, place(y), *sizes)
        return y
