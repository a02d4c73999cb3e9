"""A row of a table for each number, by how many of some learned borders it is beyond."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.borders = nn.Parameter(torch.linspace(-2, 2, n))
        self.rows = nn.Parameter(torch.randn(n + 1, width))

    def forward(self, x):
        return self.rows[(x[..., None] > self.borders).sum(-1)]


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return [31, 16]
