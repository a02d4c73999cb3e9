"""Adds two scales before it rectifies: right where both are positive."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.Parameter(torch.ones(2))
        self.shares = nn.Parameter(torch.rand(2) + 0.5)

    def forward(self, x, y):
        larger = torch.maximum(self.shares[0] * x, self.shares[0] * y) * self.shares[1]
        return self.scales.sum() * torch.relu(x), larger
