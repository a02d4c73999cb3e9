"""Residual blocks in a tree of modules."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU())
            for _ in range(depth)
        )
        self.heads = nn.ModuleDict({"out": nn.Linear(2 * width, width)})

    def forward(self, x):
        for block in self.blocks:
            x = x + self.heads["out"](block(x))
        return x


def get_inputs():
    return [torch.randn(96, 80)]


def get_init_inputs():
    return [80, 3]
