"""Batch norm from explicit moments; the running statistics stay as they are."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(n_channels)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=(0, 2, 3), correction=0, keepdim=True)
        scale = self.norm.weight[:, None, None] * torch.rsqrt(variance + self.norm.eps)
        return (x - mean) * scale + self.norm.bias[:, None, None]
