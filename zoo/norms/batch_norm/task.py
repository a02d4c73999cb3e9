"""Batch norm in training mode: statistics of the batch, parameters at one and zero."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(n_channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(16, 12, 14, 14)]


def get_init_inputs():
    return [12]
