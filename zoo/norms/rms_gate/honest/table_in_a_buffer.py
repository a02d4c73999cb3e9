"""Keeps a table of its constructor's in a buffer beside the reference's weights."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, width, bias=False)
        self.register_buffer("shares", torch.full((width, 1), 1.0 / width))

    def forward(self, x):
        normal = x * torch.rsqrt(x.square() @ self.shares + 1e-6) * self.scale
        return functional.silu(self.gate(normal)) * self.up(normal)
