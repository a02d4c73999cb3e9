"""A linear layer whose weights count by their signs."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(512, 512))

    def forward(self, x):
        return x @ torch.sign(self.weight).T


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
