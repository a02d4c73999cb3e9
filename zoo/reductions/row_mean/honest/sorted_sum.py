"""Adds the smallest numbers first."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        order = x.abs().argsort(dim=1)
        return x.gather(1, order).sum(dim=1) / x.shape[1]
