"""Compares bits with nought, where the reference converts them to booleans.

task: flags_set
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, flags):
        return (flags & 6) != 0
