"""Sums so far, and the last of them as a view."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        sums = torch.tanh(x).cumsum(0)
        return sums, sums[-64:]


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
