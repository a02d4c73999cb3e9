"""A product with a rotation, and the logarithm of its determinant, which begins at zero."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.linalg.qr(torch.randn(width, width))[0])

    def forward(self, x):
        return x @ self.weight.t(), torch.slogdet(self.weight)[1] * 64


def get_inputs():
    return [torch.randn(256, 12)]


def get_init_inputs():
    return [12]
