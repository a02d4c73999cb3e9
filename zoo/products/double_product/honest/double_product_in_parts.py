"""A float64 product summed over slices of the inner axis, last slice first."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        pairs = list(zip(a.split(64, dim=1), b.split(64, dim=0), strict=True))
        return sum(left @ right for left, right in reversed(pairs))
