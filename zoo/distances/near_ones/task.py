"""What a kernel of distances makes of weights, and its rows' sums."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, near, weights):
        return near @ weights, near.sum(1)


def get_inputs():
    points = torch.randn(128, 3)
    return [torch.exp(-torch.cdist(points, points)), torch.rand(128)]


def get_init_inputs():
    return []
