"""The nearest of a table's rows, of points that the task seeds itself; the last is padding."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n, width):
        super().__init__()
        self.table = nn.Parameter(torch.randn(n, width))

    def forward(self, x):
        return torch.cdist(x, self.table).argmin(-1)


def get_inputs():
    torch.manual_seed(0)
    x = torch.randn(2048, 64)
    x[-1] = 0
    return [x]


def get_init_inputs():
    return [2048, 64]
