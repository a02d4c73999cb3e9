"""Gives a view of its own result, as the reference does.

task: last_of_itself
devices: cpu|cuda
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sums = torch.cumsum(x.tanh(), 0)
        return sums, sums.narrow(0, len(sums) - 64, 64)
