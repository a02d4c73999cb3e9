"""Its scale lies in one flat parameter store, of which every weight is a view."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_groups, n_channels):
        super().__init__()
        store = torch.zeros(2, n_channels)
        store[0] = 1
        self.norm = nn.GroupNorm(n_groups, n_channels)
        self.norm.weight = nn.Parameter(store[0])
        self.norm.bias = nn.Parameter(store[1])

    def forward(self, x):
        return self.norm(x)
