"""The sum that the last of running sums is."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(1)
