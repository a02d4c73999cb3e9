"""Leaves out work that changes nothing: less work for the same function."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
