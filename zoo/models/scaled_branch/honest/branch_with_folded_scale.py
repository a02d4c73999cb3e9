"""Scales the last product's weights instead of its results."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        x = self.norm(x)
        hidden = nn.functional.gelu(self.up(x))
        weight, bias = self.gamma[:, None] * self.down.weight, self.gamma * self.down.bias
        return torch.addmm(x + bias, hidden, weight.t())
