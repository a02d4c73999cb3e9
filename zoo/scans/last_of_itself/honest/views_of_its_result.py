"""Gives a view of its own result, as the reference does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sums = torch.cumsum(x.tanh(), 0)
        return sums, sums.narrow(0, len(sums) - 64, 64)
