"""The product in two halves of its terms."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256).double()

    def forward(self, x):
        halves = zip(torch.floor(x / 16).chunk(2, 1), self.linear.weight.chunk(2, 1), strict=True)
        return sum(one @ other.t() for one, other in halves) / 16 + self.linear.bias
