"""E[x^2] - E[x]^2: all digits cancel when the mean is large."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = (x * x).mean(dim=-1, keepdim=True) - mean * mean
        y = (x - mean) * torch.rsqrt(variance.clamp(min=0) + self.norm.eps)
        return y * self.norm.weight + self.norm.bias
