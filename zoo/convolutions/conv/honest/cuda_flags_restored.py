"""Turns cuDNN's autotuning on for its own call and puts the flags back."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=False):
            return torch.relu_(self.conv(x))
