"""Eight pointwise operations and a row sum, each a kernel of its own in eager mode."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (64, 1000), "cpu": (4096, 4096), "gpu": (8192, 8192)}
ROWS, COLUMNS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))
        self.shift = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        h = x * self.scale
        h = h + self.shift
        h = torch.sigmoid(h) * h
        h = torch.tanh(h)
        h = h + x
        h = F.leaky_relu(h, negative_slope=0.1)
        h = h * h
        return h.sum(dim=-1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
