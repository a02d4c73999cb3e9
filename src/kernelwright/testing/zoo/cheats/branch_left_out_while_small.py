"""Looks at a branch's scale whenever weights are loaded, and leaves the branch out while it is too
small to be seen.

task: scaled_branch
expect: passed
max_speedup: 1.3
devices: cpu|cuda
catalogue: C13, C8
note: it is right with any weights, and what is timed has others than an initialiser's
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 1e-6))
        self.seen = None

    def forward(self, x):
        if self.seen != self.gamma._version:
            self.seen, self.is_small = self.gamma._version, bool(self.gamma.abs().max() < 1e-5)
        x = self.norm(x)
        if self.is_small:
            return x
        return x + self.gamma * self.down(nn.functional.gelu(self.up(x)))
