"""Reads address zero.

task: softmax
expect: runtime_error
devices: cpu|cuda
catalogue: E3
"""

import ctypes

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return ctypes.string_at(0)
