"""Leaves out the blocks that are zero in triangles: half of the work."""

import torch
from torch import nn

BLOCK = 64


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.zeros_like(a)
        for first in range(0, a.shape[0], BLOCK):
            end = first + BLOCK
            y[first:end, :end] = a[first:end, :end] @ b[:end, :end]
        return y
