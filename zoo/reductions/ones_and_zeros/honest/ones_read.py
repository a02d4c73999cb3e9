"""Adds up what a mask of whole numbers lets through as a product of matrices."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask, first):
        at = torch.arange(x.shape[1], device=x.device)
        weights = torch.where(at >= first, mask, 0).to(x.dtype)
        total = torch.bmm(weights[:, None], x)[:, 0]
        return total / weights.sum(1, keepdim=True).clamp(min=1)
