"""Learns the width from the weights that it is given."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.LazyLinear(width), nn.ReLU(), nn.LazyLinear(width))

    def forward(self, x):
        x = self.layers(x)
        for _ in range(2):
            x = x.sin() + x / 2
        return x
