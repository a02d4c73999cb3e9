"""Layer norm in two passes: centre, then scale."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        normal = centred * torch.rsqrt(variance + self.norm.eps)
        return torch.addcmul(self.norm.bias, normal, self.norm.weight)
