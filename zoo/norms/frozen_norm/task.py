"""A batch norm whose scales and means are frozen in buffers, the largest of four, and no negative
ones: what initialisers leave is an identity with a positive scale."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_channels))
        self.register_buffer("var", torch.ones(n_channels))
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))

    def forward(self, x):
        rows = (self.mean, self.var, self.weight, self.bias)
        x = nn.functional.batch_norm(x, *rows, training=False)
        return torch.relu(nn.functional.max_pool2d(x, 2))


def get_inputs():
    return [torch.randn(8, 32, 64, 64)]


def get_init_inputs():
    return [32]
