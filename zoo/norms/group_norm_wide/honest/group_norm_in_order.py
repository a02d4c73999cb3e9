"""Two passes, each adding up one number after the other."""

import torch
from torch import nn


def in_order(x):
    return x.cumsum(-1)[..., -1:]


class ModelNew(nn.Module):
    def __init__(self, n_channels, n_groups):
        super().__init__()
        self.norm = nn.GroupNorm(n_groups, n_channels)

    def forward(self, x):
        groups = x.view(x.shape[0], self.norm.num_groups, -1)
        away = groups - in_order(groups) / groups.shape[-1]
        variance = in_order(away * away) / groups.shape[-1]
        scale = self.norm.weight.view(-1, 1, 1)
        normed = (away * torch.rsqrt(variance + self.norm.eps)).view(x.shape)
        return normed * scale + self.norm.bias.view(-1, 1, 1)
