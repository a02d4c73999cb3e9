"""The scale folded into the convolution, the mean of four shifted views."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3)
        self.scale = nn.Parameter(torch.randn(outputs, 1, 1) + 2.0)

    def forward(self, x):
        # A scale per output channel can be taken into the weight and the bias.
        weight = self.conv.weight * self.scale[..., None]
        bias = self.conv.bias * self.scale.flatten()
        h = F.conv2d(x, weight, bias)
        h = h * (h + 3.0).clamp(0.0, 6.0) * (1.0 / 6.0)
        rows = h[:, :, 0::2] + h[:, :, 1::2]
        return (rows[..., 0::2] + rows[..., 1::2]) * 0.25
