"""Which of some groups spread little, and which the least, by their moments."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        mean = x.mean(-1)
        variance = (x * x).mean(-1) - mean * mean
        return variance.argmin(-1), variance < 1.0


def get_inputs():
    return [torch.randn(512, 50, 32)]


def get_init_inputs():
    return []
