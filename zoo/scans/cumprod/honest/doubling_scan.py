"""Cumulative products by doubling steps (Hillis and Steele)."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y, step = x.clone(), 1
        while step < x.shape[1]:
            y[:, step:] = y[:, step:] * y[:, :-step].clone()
            step *= 2
        return y
