"""A linear layer, and the mean square of its results beside it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        y = self.linear(x)
        return y, y.square().mean()


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return [256]
