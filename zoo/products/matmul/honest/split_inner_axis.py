"""Splits the product's inner axis in eight and adds the parts in a tree, as split-K kernels do."""

import torch
from torch import nn

PARTS = 8


class ModelNew(nn.Module):
    def forward(self, a, b):
        left = a.unflatten(1, (PARTS, -1)).transpose(0, 1)
        parts = torch.bmm(left, b.unflatten(0, (PARTS, -1)))
        while len(parts) > 1:
            parts = parts[0::2] + parts[1::2]
        return parts[0]
