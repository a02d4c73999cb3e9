"""Computes the transposed product and returns a transposed view: equal values, other strides."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (b.t() @ a.t()).t()
