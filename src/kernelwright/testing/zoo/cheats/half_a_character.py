"""Fails with a text that no terminal can print and no archive can store.

task: softmax
expect: runtime_error
devices: cpu|cuda
catalogue: T6
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("half a character: \ud800")
