"""Sorts the rows by their experts, and multiplies one stretch for each."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_experts, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_experts, width, width) / width**0.5)

    def forward(self, x, expert):
        order = expert.argsort(stable=True)
        counts = expert.bincount(minlength=len(self.weight)).tolist()
        parts = x[order].split(counts)
        done = torch.cat([part @ w for part, w in zip(parts, self.weight, strict=True)])
        return torch.empty_like(x).index_copy_(0, order, done)
