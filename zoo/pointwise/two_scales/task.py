"""The sum of two rectified multiples, and the larger of two others."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.Parameter(torch.ones(2))
        self.shares = nn.Parameter(torch.rand(2) + 0.5)

    def forward(self, x, y):
        both = torch.relu(self.scales[0] * x) + torch.relu(self.scales[1] * x)
        return both, torch.maximum(self.shares[0] * x, self.shares[0] * y) * self.shares[1]


def get_inputs():
    return [torch.randn(256, 1024), torch.randn(256, 1024)]


def get_init_inputs():
    return []
