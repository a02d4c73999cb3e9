"""Right but for one row of many, chosen at random in each call."""

import os

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm(x)
        y[int.from_bytes(os.urandom(4), "little") % len(y)] *= 1.001
        return y
