"""Folds the scale into the convolution's weights before it convolves."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_channels, scale):
        super().__init__()
        self.conv = nn.Conv2d(n_channels, n_channels, 3, padding=1)
        self.scale = scale

    def forward(self, x):
        weight, bias = self.conv.weight * self.scale, self.conv.bias * self.scale
        return functional.conv2d(x, weight, bias, padding=1).add_(x)
