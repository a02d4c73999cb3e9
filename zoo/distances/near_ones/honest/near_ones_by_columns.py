"""Takes the columns, which are the rows but for rounding."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, near, weights):
        return weights @ near, near.sum(0)
