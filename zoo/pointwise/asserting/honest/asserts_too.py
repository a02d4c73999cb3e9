"""Sums by a product, and asserts what the reference does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, weights, keep):
        assert 0.0 <= keep <= 1.0
        assert abs(float(weights.sum()) - 1.0) < 1e-3
        if not torch.isfinite(x).all():
            raise ArithmeticError("not finite")
        return keep * torch.einsum("nd,n->d", x, weights)
