"""Convolves in channels-last layout and returns that layout."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        return torch.relu_(self.conv(x.to(memory_format=torch.channels_last)))
