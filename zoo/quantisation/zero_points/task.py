"""A product with weights of 8 bits whose zero points, whole numbers too, are all zero."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("codes", torch.randint(0, 256, (n_out, n_in), dtype=torch.uint8))
        self.register_buffer("zero_points", torch.zeros(n_out, 1, dtype=torch.int32))
        self.scales = nn.Parameter(torch.rand(n_out, 1) / 16)

    def forward(self, x):
        return x @ ((self.codes.int() - self.zero_points).float() * self.scales).T


def get_inputs():
    return [torch.randn(16, 256)]


def get_init_inputs():
    return [256, 128]
