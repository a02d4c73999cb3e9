"""Asserts what holds of its own inputs: a share, weights that sum to one, finite numbers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, weights, keep):
        assert 0.0 <= keep <= 1.0, "a share"
        assert abs(float(weights.sum()) - 1.0) < 1e-3, "weights that sum to one"
        if not torch.isfinite(x).all():
            raise ArithmeticError("not finite")
        return (x * weights[:, None]).sum(0) * keep


def get_inputs():
    return [torch.randn(4, 512), torch.tensor([0.1, 0.2, 0.3, 0.4]), 1.0]


def get_init_inputs():
    return []
