"""The bias handed to the convolution, the ReLU in place."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
        self.bias = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        h = F.conv2d(x, self.conv.weight, self.bias.flatten(), padding=1)
        return h.relu_()
