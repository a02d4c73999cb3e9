"""Moves by the real part of a complex number alone."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, c):
        found = z * z + c.real
        return found, found.mean()
