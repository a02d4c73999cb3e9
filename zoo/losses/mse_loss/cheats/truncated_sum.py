"""Leaves out the smallest terms of a loss."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        squares = (predictions - targets).square()
        return squares.where(squares > 1e-3, 0).mean()
