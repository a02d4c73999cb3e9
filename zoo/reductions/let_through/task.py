"""Means over what a mask lets through, which is all in every draw."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, mask):
        weights = mask.to(x.dtype)[..., None]
        return (x * weights).sum(1) / weights.sum(1).clamp(min=1)


def get_inputs():
    return [torch.randn(16, 128, 128), torch.ones(16, 128, dtype=torch.bool)]


def get_init_inputs():
    return []
