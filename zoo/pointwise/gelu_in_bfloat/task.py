"""A GELU of bfloat16 numbers."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.gelu(x)


def get_inputs():
    return [torch.randn(256, 1024).bfloat16()]


def get_init_inputs():
    return []
