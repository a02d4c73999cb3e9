"""Leaves out what negative numbers go through: the logarithm beside it bears none.

task: scaled_by_logarithms
expect: wrong_values
devices: cpu|cuda
catalogue: C10
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, p):
        return x * torch.log(p)
