"""What is there, and what was there before times a number, which is zero."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, c, a, beta):
        return torch.tanh(a) + beta * torch.tanh(c)


def get_inputs():
    return [torch.randn(1024, 1024), torch.randn(1024, 1024), 0.0]


def get_init_inputs():
    return []
