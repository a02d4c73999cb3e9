"""Sums of segments, one after the other."""

import itertools

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, offsets):
        ends = offsets.tolist()
        return torch.stack([x[a:b].sum(0) for a, b in itertools.pairwise(ends)])
