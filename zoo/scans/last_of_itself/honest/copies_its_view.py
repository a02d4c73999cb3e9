"""Copies what the reference gives as a view."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sums = torch.cumsum(x.tanh(), 0)
        return sums, sums[-64:].clone()
