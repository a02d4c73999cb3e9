"""The same mean from variances, with other noise where it is zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_channels, n_groups):
        super().__init__()
        self.conv = nn.Conv2d(3, n_channels, 3)
        self.norm = nn.GroupNorm(n_groups, n_channels)

    def forward(self, x):
        y = self.conv(x)
        groups = y.view(y.shape[0], self.norm.num_groups, -1)
        variance, mean = torch.var_mean(groups, -1, correction=0, keepdim=True)
        normed = ((groups - mean) * torch.rsqrt(variance + self.norm.eps)).view(y.shape)
        scaled = normed * self.norm.weight.view(-1, 1, 1) + self.norm.bias.view(-1, 1, 1)
        return scaled.flatten(1).mean(1)
