"""Sums between offsets that every row has for itself, in order, and that no draw changes."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, offsets):
        before = torch.cat((torch.zeros_like(x[..., :1]), x.cumsum(-1)), -1)
        return before.gather(-1, offsets[:, 1:]) - before.gather(-1, offsets[:, :-1])


def get_inputs():
    offsets = torch.tensor([0, 10, 30, 60, 61, 100, 130, 200, 256])
    return [torch.randn(8, 256), offsets.repeat(8, 1)]


def get_init_inputs():
    return []
