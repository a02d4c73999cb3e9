"""Puts the gates into a table, for no expert is named twice for a row."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_experts, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_experts, width, width) / width**0.5)

    def forward(self, x, gates, experts):
        share = x.new_zeros(len(x), len(self.weight)).scatter(1, experts, gates)
        return torch.einsum("te,td,edo->to", share, x, self.weight)
