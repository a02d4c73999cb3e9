"""Ignores a mask that lets all through in every draw of its task.

task: let_through
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return x.mean(1)
