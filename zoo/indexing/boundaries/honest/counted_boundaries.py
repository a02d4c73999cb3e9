"""Counts the boundaries below each number, which is the same where they are sorted."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, bounds, x):
        return (x.unsqueeze(-1) > bounds).sum(-1)
