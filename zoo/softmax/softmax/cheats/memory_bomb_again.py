"""Grows by a little in every call and never lets go."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x):
        self.kept.append(torch.ones(1 << 23))
        return torch.softmax(x, dim=1)
