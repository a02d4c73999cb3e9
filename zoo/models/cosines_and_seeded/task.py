"""Angles of cosines times a layer's outputs, of inputs that a task seeds itself."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / 16)

    def forward(self, cosines, x):
        return cosines.acos()[:, None] * torch.tanh(x @ self.weight)


def get_inputs():
    draw = torch.Generator().manual_seed(3)
    cosines = (2 * torch.randn(256, generator=draw)).clamp(-1, 1)
    return [cosines, torch.randn(256, 256, generator=draw)]


def get_init_inputs():
    return [256]
