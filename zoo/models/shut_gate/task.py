"""A branch behind a gate that is a buffer of one number, and begins as zero."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.register_buffer("gate", torch.zeros(1))

    def forward(self, x):
        return x.relu() + self.gate * (x @ self.mix)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return [512]
