"""Which scores in float32, of bfloat16 inputs and weights, are above a threshold."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, n_flags):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, n_flags).bfloat16() / 16)

    def forward(self, x):
        return x.float() @ self.weight.float() > 0.7


def get_inputs():
    return [torch.randn(512, 256).bfloat16()]


def get_init_inputs():
    return [256, 256]
