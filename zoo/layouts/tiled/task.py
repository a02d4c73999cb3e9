"""The same rows again and again: a result of 48 MB that holds 2 MB of numbers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x).repeat(24, 1)


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
