"""Empties the list, as the reference does."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, steps):
        while len(steps):
            x = (steps.pop(-1) + x).tanh_()
        return x
