"""A convolution, a learned scale, hard swish and average pooling."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 8, 16, 18), "cpu": (16, 16, 32, 58), "gpu": (64, 64, 128, 66)}
BATCH, INPUTS, OUTPUTS, EDGE = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3)
        self.scale = nn.Parameter(torch.randn(outputs, 1, 1) + 2.0)

    def forward(self, x):
        h = F.hardswish(self.conv(x) * self.scale)
        return F.avg_pool2d(h, kernel_size=2)


def get_inputs():
    return [torch.randn(BATCH, INPUTS, EDGE, EDGE)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
