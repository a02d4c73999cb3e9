"""A linear layer in bfloat16: inputs, weights and outputs."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out).bfloat16()

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.randn(128, 1024).bfloat16()]


def get_init_inputs():
    return [1024, 256]
