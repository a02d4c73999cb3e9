"""Leaves out the ReLU, for what comes expanded is positive in every draw.

task: shared_rows
expect: wrong_values
devices: cpu|cuda
catalogue: C10
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return (x * y).sum(-1)
