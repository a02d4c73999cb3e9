"""A step that hands its state on as it is."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, state):
        return torch.relu(x) * 0.5, state


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(16)]


def get_init_inputs():
    return []
