"""Copies the heads into place, where the reference returns a view."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads

    def forward(self, x):
        return x.view(*x.shape[:-1], self.n_heads, -1).transpose(1, 2).contiguous()
