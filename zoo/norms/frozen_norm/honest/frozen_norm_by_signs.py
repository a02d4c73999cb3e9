"""Takes the largest or the smallest first, by the sign of the scale, and scales it then."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_channels))
        self.register_buffer("var", torch.ones(n_channels))
        self.weight = nn.Parameter(torch.ones(n_channels))
        self.bias = nn.Parameter(torch.zeros(n_channels))

    def forward(self, x):
        scale = self.weight * torch.rsqrt(self.var + 1e-5)
        shift = self.bias - self.mean * scale
        sign = torch.where(scale < 0, -1.0, 1.0)[:, None, None]
        largest = nn.functional.max_pool2d(x * sign, 2)
        return torch.relu(largest * scale.abs()[:, None, None] + shift[:, None, None])
