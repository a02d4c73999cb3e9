"""Keeps the digits that the reference loses near zero, where float64 itself is its yardstick."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, mean, log_variance):
        return 0.5 * (mean.square() + (torch.expm1(log_variance) - log_variance)).sum(1)
