"""A thousand steps in float64."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, pull):
        for _ in range(1000):
            x = x * 0.999 + torch.tanh(x * pull) * 0.001
        return x


def get_inputs():
    return [torch.randn(16, 64, dtype=torch.float64), torch.rand(64, dtype=torch.float64)]


def get_init_inputs():
    return []
