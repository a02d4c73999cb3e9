"""Distances between all rows of a matrix: zero on the diagonal, where the library is far off."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return []
