"""A linear layer of float32 inputs and weights that computes and gives float64."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / 16)

    def forward(self, x):
        return nn.functional.linear(x.double(), self.weight.double())


def get_inputs():
    return [torch.randn(128, 256)]


def get_init_inputs():
    return [256, 64]
