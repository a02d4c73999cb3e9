"""Scores in float32, added up in four parts."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_flags):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, n_flags, dtype=torch.bfloat16))

    def forward(self, x):
        parts = zip(x.chunk(4, 1), self.weight.chunk(4), strict=True)
        return sum(one.float() @ two.float() for one, two in parts) > 0.7
