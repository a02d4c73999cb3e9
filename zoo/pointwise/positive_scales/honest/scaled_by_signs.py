"""Scales the largest, or the smallest where a scale is negative."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x):
        least, most = x.aminmax(dim=1)
        return torch.where(self.scale < 0, least, most) * self.scale
