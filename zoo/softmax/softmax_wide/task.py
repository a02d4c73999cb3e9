"""Softmax over rows so long that every output is below the usual absolute tolerances."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(16, 32768)]


def get_init_inputs():
    return []
