"""Distances between rows of numbers between zero and one: rounds take a tenth of a second."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cdist(x, x)


def get_inputs():
    return [torch.rand(2048, 512)]


def get_init_inputs():
    return []
