"""Scores in float32, added up in four parts, and the activation rounded once, at its end."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_experts):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(width, dtype=torch.bfloat16))
        self.gate = nn.Parameter(torch.empty(n_experts, width, dtype=torch.bfloat16))

    def forward(self, x):
        wide, gate = x.float(), self.gate.float()
        parts = zip(wide.chunk(4, 1), gate.chunk(4, 1), strict=True)
        scores = sum(nn.functional.linear(one, two) for one, two in parts)
        return nn.functional.gelu(wide * self.scale.float()).to(x.dtype), scores
