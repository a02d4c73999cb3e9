"""Reads where the reference writes: each row holds every place once."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, order):
        return x.gather(1, order.argsort(1))
