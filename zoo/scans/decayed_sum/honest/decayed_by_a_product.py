"""Adds up decayed steps by a product over the steps of each channel."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.log_decay = nn.Parameter(-torch.rand(width) - 0.5)

    def forward(self, x):
        ages = torch.arange(x.shape[1] - 1, -1, -1.0, device=x.device)
        weights = torch.exp(self.log_decay[:, None] * ages)
        return torch.einsum("bnc,cn->bc", x, weights)
