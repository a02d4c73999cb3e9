"""Rows of length one; rows of zeros stay zeros."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.normalize(x, dim=-1)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
