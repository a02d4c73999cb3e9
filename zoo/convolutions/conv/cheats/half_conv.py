"""Convolution in bfloat16."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        weight, bias = self.conv.weight.bfloat16(), self.conv.bias.bfloat16()
        return torch.relu(functional.conv2d(x.bfloat16(), weight, bias, padding=1).float())
