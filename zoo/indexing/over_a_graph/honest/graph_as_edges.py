"""Takes from a matrix where its ones are, and adds up neighbours."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, adjacent):
        here, there = adjacent.nonzero(as_tuple=True)
        scale = torch.bincount(here, minlength=len(adjacent)).clamp(min=1).rsqrt()
        terms = x[:, there] * (scale[here] * scale[there])[:, None]
        return torch.relu(self.linear(torch.zeros_like(x).index_add(1, here, terms)))
