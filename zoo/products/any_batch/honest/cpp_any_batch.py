"""An own softmax behind the library's product, for any number of rows, none among them."""

import ctypes

from torch import nn
from zoo.cpp import build

SOURCE = r"""
#include <algorithm>
#include <cmath>
extern "C" void softmax(float* x, long rows, long columns) {
    #pragma omp parallel for
    for (long r = 0; r < rows; ++r) {
        float* row = x + r * columns;
        float most = *std::max_element(row, row + columns), sum = 0;
        for (long c = 0; c < columns; ++c) sum += row[c] = std::exp(row[c] - most);
        for (long c = 0; c < columns; ++c) row[c] /= sum;
    }
}
"""


def place(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.library = build(SOURCE)

    def forward(self, x):
        y = self.linear(x)
        self.library.softmax(place(y), ctypes.c_long(len(y)), ctypes.c_long(y.shape[1]))
        return y
