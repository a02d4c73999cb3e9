"""Replaces NaN in what it subtracts, and leaves them in the gradient."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, gradient, weight):
        return weight - 0.1 * torch.nan_to_num(gradient, nan=0.0)
