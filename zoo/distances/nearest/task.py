"""The nearest of a table's rows to each vector: integers that hang on rounding."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(n_codes, width))

    def forward(self, x):
        return torch.cdist(x, self.codes).argmin(dim=1)


def get_inputs():
    return [torch.randn(2048, 32)]


def get_init_inputs():
    return [256, 32]
