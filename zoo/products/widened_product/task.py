"""A linear layer of bfloat16 inputs and weights that computes and gives float32."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in).bfloat16() / 32)

    def forward(self, x):
        return nn.functional.linear(x.float(), self.weight.float())


def get_inputs():
    return [torch.randn(128, 1024).bfloat16()]


def get_init_inputs():
    return [1024, 256]
