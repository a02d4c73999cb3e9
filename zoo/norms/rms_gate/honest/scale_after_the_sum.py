"""Multiplies first and divides by the root of the mean square afterwards."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, width, bias=False)

    def forward(self, x):
        weight = torch.cat([self.gate.weight, self.up.weight]) * self.scale
        root = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)
        gate, up = ((x @ weight.t()) * root).chunk(2, dim=-1)
        return gate * torch.sigmoid(gate) * up
