"""Squared distances by one product; which is nearest hangs on rounding far from zero, as it does
in the library, which computes them so too."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, others):
        squares = x.square().sum(1)[:, None] + others.square().sum(1) - 2 * (x @ others.T)
        values, places = squares.topk(5, dim=1, largest=False)
        return values.clamp(min=0).sqrt(), places
