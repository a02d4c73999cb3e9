"""Takes a matrix that is its own transpose from the other side."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, edges):
        return (x.T @ edges.to(x.dtype)).T
