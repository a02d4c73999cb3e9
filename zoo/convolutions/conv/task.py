"""A 3 x 3 convolution with bias and ReLU."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(4, 8, 30, 30)]


def get_init_inputs():
    return [8, 16, 3]
