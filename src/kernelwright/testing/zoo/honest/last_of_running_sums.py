"""A view of running sums, as the reference returns one.

task: last_step
devices: cpu|cuda
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1).select(1, -1)
