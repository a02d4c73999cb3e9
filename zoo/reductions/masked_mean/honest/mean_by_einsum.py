"""Means over a mask as sums of products with a mask of numbers."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask, power=1.0, bias=None):
        if power == 2.0:
            kept = x.masked_fill(~mask, 0).square()
        else:
            kept = x.masked_fill(~mask, 0).abs().pow(power)
        total = kept.sum(dim=1) / torch.count_nonzero(mask, dim=1).clamp_(min=1)
        return total + bias if bias is not None else total
