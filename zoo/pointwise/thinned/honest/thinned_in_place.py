"""Thins in place, with random numbers of its own where the chance is not zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, chance):
        y = torch.tanh(x)
        return y.mul_(torch.rand_like(y) >= chance).div_(1 - chance) if chance else y
