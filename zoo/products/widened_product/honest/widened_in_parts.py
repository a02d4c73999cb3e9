"""Widens in four parts and adds their products in float32."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in, dtype=torch.bfloat16))

    def forward(self, x):
        parts = zip(x.chunk(4, 1), self.weight.chunk(4, 1), strict=True)
        return sum(nn.functional.linear(one.float(), two.float()) for one, two in parts)
