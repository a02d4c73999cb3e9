"""Rounds to ten bits of mantissa before the transform."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x.half().float())
