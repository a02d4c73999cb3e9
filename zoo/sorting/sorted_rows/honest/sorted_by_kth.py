"""Sorts through the library's top-k of the negative numbers."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return -torch.topk(-x, x.shape[1], dim=1).values
