"""Reads the list from its end, and leaves it as it is."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, steps):
        for step in reversed(steps):
            x = torch.tanh(step + x)
        return x
