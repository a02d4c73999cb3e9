"""The exact GELU spelled out, after a product with other memory layout."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        return y * torch.erf(y * math.sqrt(0.5)).add_(1).mul_(0.5)
