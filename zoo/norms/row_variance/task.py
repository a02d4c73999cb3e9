"""Variances of rows."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.var(dim=1)


def get_inputs():
    return [torch.randn(256, 1000)]


def get_init_inputs():
    return []
