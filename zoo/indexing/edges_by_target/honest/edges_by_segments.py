"""Adds up one stretch of edges for each node, as they are sorted by it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, target, source, weight):
        lengths = target.bincount(minlength=len(x))
        told = x[source] * weight[:, None]
        return torch.segment_reduce(told, "sum", lengths=lengths, initial=0.0)
