"""GELU by its definition and one fused multiply-add at the end."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))

    def forward(self, gate, value):
        gelu = 0.5 * gate * torch.special.erfc(gate * -(0.5**0.5))
        swish = value * torch.sigmoid(value)
        return torch.addcmul(value, gelu * swish, self.scale)
