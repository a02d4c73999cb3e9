"""Root-mean-square norm, then a gated unit."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.gate = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, width, bias=False)

    def forward(self, x):
        normal = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6) * self.scale
        return functional.silu(self.gate(normal)) * self.up(normal)


def get_inputs():
    return [torch.randn(4, 64, 192)]


def get_init_inputs():
    return [192]
