"""Keeps an expanded filter as the reference does, and blurs all channels as images of one."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        row = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        self.register_buffer("blur", (row[:, None] * row).expand(channels, 1, 5, 5))
        self.shift = nn.Parameter(torch.randn(1, channels).expand(2, channels))

    def forward(self, x):
        images = x.flatten(0, 1)[:, None]
        blurred = functional.conv2d(images, self.blur[:1], padding=2).view_as(x)
        return blurred + self.shift.sum(0)[:, None, None]
