"""The mask as a number that is added.

task: compared_mask
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return (x + (mask - 1) * 1e9).softmax(-1)
