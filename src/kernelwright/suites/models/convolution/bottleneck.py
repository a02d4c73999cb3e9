"""A bottleneck of ResNet-50: three convolutions with batch norms, and the residual."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 16, 4, 8), "cpu": (2, 64, 16, 14), "gpu": (64, 256, 64, 56)}
BATCH, CHANNELS, INNER, SIDE = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        named = {"bias": False, "dtype": torch.bfloat16}
        self.reduce = nn.Conv2d(channels, inner, 1, **named)
        self.spread = nn.Conv2d(inner, inner, 3, padding=1, **named)
        self.expand = nn.Conv2d(inner, channels, 1, **named)
        widths = (inner, inner, channels)
        self.norms = nn.ModuleList(nn.BatchNorm2d(n, dtype=torch.bfloat16) for n in widths)
        self.eval()

    def forward(self, x):
        first, second, third = self.norms
        y = F.relu(first(self.reduce(x)))
        y = F.relu(second(self.spread(y)))
        return F.relu(third(self.expand(y)) + x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE, dtype=torch.bfloat16)]


def get_init_inputs():
    return [CHANNELS, INNER]
