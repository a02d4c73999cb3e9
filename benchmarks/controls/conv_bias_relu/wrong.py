"""Wrong: the border is padded with its own values, not with zeros."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
        self.bias = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        padded = F.pad(x, (1, 1, 1, 1), mode="replicate")
        return F.conv2d(padded, self.conv.weight, self.bias.flatten()).relu_()
