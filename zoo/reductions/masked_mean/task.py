"""Means over the unmasked places of each row, with options that are no tensors."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, mask, power=1.0, bias=None):
        kept = torch.where(mask, x, torch.zeros_like(x)).abs() ** power
        total = kept.sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return total if bias is None else total + bias


def get_inputs():
    return [torch.randn(256, 640), torch.rand(256, 640) > 0.3, 2.0, None]


def get_init_inputs():
    return []
