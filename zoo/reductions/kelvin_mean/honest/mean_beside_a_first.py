"""The mean of what is left when a forecast's first number is taken away."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, t):
        rows = t.flatten(1)
        first = rows[:, :1]
        return first[:, 0] + (rows - first).mean(1)
