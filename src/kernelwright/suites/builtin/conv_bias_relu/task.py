"""A padded 3x3 convolution, a bias per channel and a ReLU."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 8, 12, 14), "cpu": (16, 32, 48, 56), "gpu": (32, 128, 128, 64)}
BATCH, INPUTS, OUTPUTS, EDGE = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
        self.bias = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        return torch.relu(self.conv(x) + self.bias)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, EDGE, EDGE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
