"""Adds up products of 64 terms, one after the other."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        parts = zip(a.split(64, 1), b.split(64), strict=True)
        return sum(one @ two for one, two in parts)
