"""Rounded to bfloat16 at every step."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * 0.5 * (1 + torch.erf(x * 0.70710678))
