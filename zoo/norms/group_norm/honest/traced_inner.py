"""Traces an inner module on its first call; the trace shares its parameters."""

import torch
from torch import nn
from torch.nn import functional


class Inner(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        groups = x.view(len(x), self.norm.num_groups, -1)
        normal = functional.layer_norm(groups, groups.shape[-1:], eps=self.norm.eps).view_as(x)
        return normal * self.norm.weight.view(1, -1, 1, 1) + self.norm.bias.view(1, -1, 1, 1)


class ModelNew(nn.Module):
    def __init__(self, n_groups, n_channels):
        super().__init__()
        self.norm = nn.GroupNorm(n_groups, n_channels)
        self.traced = []

    def forward(self, x):
        if not self.traced:
            self.traced.append(torch.jit.trace(Inner(self.norm), x.clone()))
        return self.traced[0](x)
