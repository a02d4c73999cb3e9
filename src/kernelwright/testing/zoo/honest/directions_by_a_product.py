"""A product is the cosine, as rows are of length one.

task: directions
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return x @ y.mT
