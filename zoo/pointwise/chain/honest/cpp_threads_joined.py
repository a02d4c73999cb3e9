"""Splits the work over std::thread and joins before it returns."""

import ctypes

import torch
from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>
static void work(const float* x, float* y, long first, long last) {
    for (long i = first; i < last; ++i)
        y[i] = std::tanh(x[i]) / (1 + std::exp(-x[i])) + std::exp(-x[i] * x[i]);
}
extern "C" void chain(const float* x, float* y, long n, int n_threads) {
    std::vector<std::thread> threads;
    long step = (n + n_threads - 1) / n_threads;
    for (long i = 0; i < n; i += step)
        threads.emplace_back(work, x, y, i, std::min(i + step, n));
    for (auto& thread : threads) thread.join();
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
        n_threads = ctypes.c_int(torch.get_num_threads())
        self.library.chain(place(x), place(y), ctypes.c_long(x.numel()), n_threads)
        return y
