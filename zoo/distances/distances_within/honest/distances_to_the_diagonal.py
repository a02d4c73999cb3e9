"""Multiplies in float32 and knows that a row is no distance from itself."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        squares = x.square().sum(-1)
        squared = squares[:, None] + squares - 2 * (x @ x.t())
        return squared.clamp_min(0).sqrt().fill_diagonal_(0)
