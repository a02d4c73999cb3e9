"""A residual block with one learned number as its scale, which begins small."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1e-8))
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.scale * self.down(torch.tanh(self.up(x)))


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256]
