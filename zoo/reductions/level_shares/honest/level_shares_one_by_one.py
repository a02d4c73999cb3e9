"""Counts one level after the other."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, levels):
        counts = [(x == level).sum(1) for level in levels]
        return torch.stack(counts, -1) / x.shape[1]
