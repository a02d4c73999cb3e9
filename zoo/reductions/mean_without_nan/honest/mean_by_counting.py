"""Adds up what is a number, and counts it."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        is_number = x == x
        return torch.where(is_number, x, 0).sum(-1) / is_number.sum(-1)
