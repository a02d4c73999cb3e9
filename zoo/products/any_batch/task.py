"""Row softmax of a linear layer for any number of rows, none and one among them."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.softmax(self.linear(x), dim=-1)


def get_inputs():
    return [torch.randn(200, 96)]


def get_other_inputs():
    return [[torch.randn(1, 96)], [torch.randn(0, 96)], [torch.randn(7, 96)]]


def get_init_inputs():
    return [96, 130]
