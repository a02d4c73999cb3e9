"""The library's leaky ReLU, with the slope and the scale that it is given."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, slope, scale):
        return nn.functional.leaky_relu(x, slope).mul_(scale)
