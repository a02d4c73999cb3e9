"""A result twice, once to keep and once to work on."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = torch.tanh(x)
        return y, y.clone()


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
