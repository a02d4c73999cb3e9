"""Whole numbers in the product, and their scale after it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256)

    def forward(self, x):
        return torch.floor(x * 100) @ self.linear.weight.t() / 100 + self.linear.bias
