"""Writes both results as columns of one table: they have no number in common."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        both = torch.tanh(x).repeat(1, 2)
        return both.chunk(2, 1)
