"""Maxima that begin at zero, which all images of random numbers exceed."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.flatten(2).amax(-1).clamp(min=0)
