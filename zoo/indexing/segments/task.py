"""Sums of segments that start where offsets say; the task always gives the same."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, offsets):
        sums = nn.functional.pad(x.double().cumsum(0), (0, 0, 1, 0))
        return (sums[offsets[1:]] - sums[offsets[:-1]]).float()


def get_inputs():
    return [
        torch.randn(1024, 256),
        torch.tensor([0, 3, 50, 120, 121, 300, 333, 512, 700, 800, 801, 900, 1024]),
    ]


def get_init_inputs():
    return []
