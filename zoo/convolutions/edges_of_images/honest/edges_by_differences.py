"""Subtracts neighbours: the filters are part of the task."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Parameter(torch.zeros(2, 1, 3, 3), requires_grad=False)

    def forward(self, x):
        x = F.pad(x, (1, 1, 1, 1))[:, 0]
        across = x[..., 2:] - x[..., :-2]
        along = x[..., 2:] + 2 * x[..., 1:-1] + x[..., :-2]
        one = across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]
        other = along[:, 2:] - along[:, :-2]
        return (one.square() + other.square()).add(1e-6).sqrt()
