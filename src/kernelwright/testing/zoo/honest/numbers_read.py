"""The library's leaky ReLU, with the slope and the scale that it is given.

task: slope_and_scale
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, slope, scale):
        return nn.functional.leaky_relu(x, slope).mul_(scale)
