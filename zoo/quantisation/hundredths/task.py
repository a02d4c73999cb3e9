"""A linear layer of hundredths that are rounded down to hundredths: all lie on a border."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256)

    def forward(self, x):
        return self.linear(torch.floor(x * 100) / 100)


def get_inputs():
    return [torch.randint(0, 100, (128, 1024)) / 100]


def get_init_inputs():
    return [1024]
