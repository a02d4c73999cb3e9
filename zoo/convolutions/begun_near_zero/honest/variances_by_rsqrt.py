"""Multiplies by reciprocal roots, and adds in place."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.variance = nn.Parameter(torch.ones(width))
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x * self.variance.rsqrt()
        return self.down(nn.functional.gelu(self.up(x))).add_(x)
