"""Batch norm in train mode and a ReLU: the statistics are those of the batch."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (4, 16, 14, 14), "cpu": (64, 64, 28, 28), "gpu": (64, 256, 56, 56)}
BATCH, CHANNELS, HEIGHT, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) * 2.0 + 0.5]


def get_init_inputs():
    return [CHANNELS]
