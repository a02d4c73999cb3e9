"""Multiplies in float16.

task: matmul
expect: wrong_values
devices: cpu|cuda
catalogue: C19
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
