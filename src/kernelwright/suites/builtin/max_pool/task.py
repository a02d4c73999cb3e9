"""Overlapping max pooling with padding."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 8, 14), "cpu": (8, 64, 56), "gpu": (64, 256, 112)}
BATCH, CHANNELS, EDGE = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, EDGE, EDGE)]


def get_init_inputs():
    return []
