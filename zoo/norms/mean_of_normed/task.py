"""The mean of what was normalised by groups, which is zero where scales are one and shifts zero
(as KernelBench's level 2, problem 23).
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_channels, n_groups):
        super().__init__()
        self.conv = nn.Conv2d(3, n_channels, 3)
        self.norm = nn.GroupNorm(n_groups, n_channels)

    def forward(self, x):
        return self.norm(self.conv(x)).mean(dim=[1, 2, 3])


def get_inputs():
    return [torch.rand(16, 3, 32, 32)]


def get_init_inputs():
    return [24, 8]
