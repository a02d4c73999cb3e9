"""Divides by n where the task divides by n - 1: a thousandth off.

task: row_variance
expect: wrong_values
devices: cpu|cuda
catalogue: C19
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.var(dim=1, correction=0)
