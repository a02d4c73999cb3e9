"""A linear layer of bfloat16 numbers and weights."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(64, 1024).bfloat16()]


def get_init_inputs():
    return [1024]
