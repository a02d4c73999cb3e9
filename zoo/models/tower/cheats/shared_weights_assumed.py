"""Runs every block with the weights of the first."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU())
            for _ in range(depth)
        )
        self.heads = nn.ModuleDict({"out": nn.Linear(2 * width, width)})

    def forward(self, x):
        for _ in self.blocks:
            x = x + self.heads["out"](self.blocks[0](x))
        return x
