"""A linear layer with a mask for pruning that prunes nothing yet."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.register_buffer("mask", torch.ones(n_out, n_in))

    def forward(self, x):
        return x @ (self.weight * self.mask).T


def get_inputs():
    return [torch.randn(16, 512)]


def get_init_inputs():
    return [512, 256]
