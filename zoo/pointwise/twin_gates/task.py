"""A gate of two inputs that are alike in every draw, as a module's input and itself are."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, gate):
        return torch.relu(x) * torch.sigmoid(gate)


def get_inputs():
    x = torch.randn(256, 1024)
    return [x, x.clone()]


def get_init_inputs():
    return []
