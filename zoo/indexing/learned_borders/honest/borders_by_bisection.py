"""Finds a number's place among learned borders by bisection, for they are in order."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.borders = nn.Parameter(torch.linspace(-2, 2, n))
        self.rows = nn.Parameter(torch.randn(n + 1, width))

    def forward(self, x):
        return self.rows[torch.bucketize(x, self.borders)]
