"""Squared distances from norms and one product, in float64: the difference cancels."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = x.double(), y.double()
        squares = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)
        return squares.sub_(2 * x @ y.t()).clamp_(min=0).float()
