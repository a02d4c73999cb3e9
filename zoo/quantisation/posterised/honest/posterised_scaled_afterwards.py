"""Steps by a factor, whole numbers in the product, and their scale after it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 512)

    def forward(self, x):
        steps = torch.floor(x * 0.0625)
        return steps @ self.linear.weight.t() * (16 / 255) + self.linear.bias
