"""Adds what changes, which rounds otherwise in every step."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, pull):
        for _ in range(1000):
            x = x + 0.001 * (torch.tanh(x * pull) - x)
        return x
