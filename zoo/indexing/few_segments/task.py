"""Sums of four stretches of rows, all as long; the task always gives the same."""

from itertools import pairwise

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, offsets):
        return torch.stack([x[a:b].sum(0) for a, b in pairwise(offsets.tolist())])


def get_inputs():
    return [torch.randn(1024, 256), torch.arange(0, 1025, 256)]


def get_init_inputs():
    return []
