"""A residual block whose last layer begins near zero, as in diffusion models, behind learned
variances."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.variance = nn.Parameter(torch.ones(width))
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        nn.init.normal_(self.down.weight, std=1e-10)
        nn.init.zeros_(self.down.bias)

    def forward(self, x):
        x = x / self.variance.sqrt()
        return x + self.down(nn.functional.gelu(self.up(x)))


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256]
