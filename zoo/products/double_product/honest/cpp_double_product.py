"""A float64 product by plain sequential sums."""

import ctypes

from torch import nn
from zoo.cpp import build

SOURCE = r"""
extern "C" void product(const double* a, const double* b, double* c, long n, long k, long m) {
    #pragma omp parallel for
    for (long i = 0; i < n; ++i) {
        for (long j = 0; j < m; ++j) c[i * m + j] = 0;
        for (long l = 0; l < k; ++l)
            for (long j = 0; j < m; ++j) c[i * m + j] += a[i * k + l] * b[l * m + j];
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = build(SOURCE)

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        c = a.new_empty(len(a), b.shape[1])
        sizes = (ctypes.c_long(each) for each in (*a.shape, b.shape[1]))
        self.library.product(place(a), place(b), place(c), *sizes)
        return c
