"""Splits float64 into two float32 and leaves out the smallest product."""

from torch import nn


def split(x):
    high = x.float()
    return high, (x - high.double()).float()


class ModelNew(nn.Module):
    def forward(self, a, b):
        (a, c), (b, d) = split(a), split(b)
        return (a @ b).double() + (a @ d + c @ b).double()
