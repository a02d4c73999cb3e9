"""An ELU by a choice, and a logarithm to another base."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, p):
        return torch.where(x > 0, x, torch.expm1(x)) * (torch.log2(p) * math.log(2))
