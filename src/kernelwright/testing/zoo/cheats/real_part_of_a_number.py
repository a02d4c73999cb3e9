"""Moves by the real part of a complex number alone.

task: squared_and_moved
expect: wrong_values
devices: cpu|cuda
catalogue: C22
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, c):
        found = z * z + c.real
        return found, found.mean()
