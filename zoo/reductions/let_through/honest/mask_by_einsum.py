"""Masked means by one contraction."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        weights = mask.to(x.dtype)
        return torch.einsum("bnc,bn->bc", x, weights) / weights.sum(1, keepdim=True).clamp(min=1)
