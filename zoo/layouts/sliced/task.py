"""A product of a slice, an expanded row and every other row, and a copy."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y, z):
        return (x + y) * z, x.t().contiguous()


def get_inputs():
    return [
        torch.randn(256, 600)[:, 100:356].t(),
        torch.randn(256).expand(256, 256),
        torch.randn(512, 256)[::2],
    ]


def get_init_inputs():
    return []
