"""A linear layer in bfloat16 of rows that differ in size by orders of magnitude."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256, bias=False).bfloat16()

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    sizes = torch.exp(1.5 * torch.randn(256, 1))
    return [(torch.randn(256, 1024) * sizes).bfloat16()]


def get_init_inputs():
    return [1024]
