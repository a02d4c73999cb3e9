"""Knows the width."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x):
        x = self.layers(x)
        for _ in range(2):
            x = torch.add(x.sin(), x, alpha=0.5)
        return x
