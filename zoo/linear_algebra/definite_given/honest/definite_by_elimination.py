"""Solves by elimination what the reference solves by its root: as exact, and more work."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, right):
        return torch.linalg.solve(x, right)
