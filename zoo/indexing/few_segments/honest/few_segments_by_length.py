"""Gives every row the number of its stretch: offsets rise, be they ever so few."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, offsets):
        n = len(offsets) - 1
        stretch = torch.arange(n, device=x.device).repeat_interleave(offsets.diff())
        return torch.zeros(n, x.shape[1], device=x.device).index_add_(0, stretch, x)
