"""A layer over a graph, whose matrix of zeros and ones is the same in every draw."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, adjacent):
        scale = adjacent.sum(-1).clamp(min=1).rsqrt()
        return torch.relu(self.linear((adjacent * scale[:, None] * scale) @ x))


def get_inputs():
    draw = torch.Generator().manual_seed(0)
    some = (torch.rand(48, 48, generator=draw) < 0.1).float()
    return [torch.randn(16, 48, 24), torch.maximum(some, some.T)]


def get_init_inputs():
    return [24]
