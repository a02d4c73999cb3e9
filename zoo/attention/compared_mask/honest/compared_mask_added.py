"""The mask as a number that is added."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return (x + (mask - 1) * 1e9).softmax(-1)
