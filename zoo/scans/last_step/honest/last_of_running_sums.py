"""A view of running sums, as the reference returns one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1).select(1, -1)
