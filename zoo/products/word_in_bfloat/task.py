"""A linear layer of bfloat16 weights for one word: fewer results than 1,024."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=False).bfloat16()

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(1, 1024).bfloat16()]


def get_init_inputs():
    return [1024, 1000]
