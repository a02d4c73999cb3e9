"""Wrong: variance as E[x^2] - E[x]^2, which cancels where the mean is large."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
        normal = (x - mean) * torch.rsqrt(variance.clamp_min(0.0) + self.norm.eps)
        return torch.addcmul(self.norm.bias, normal, self.norm.weight)
