"""Eliminates where the reference takes the root, and adds the penalty in place."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        gram = x.mT @ x
        gram.diagonal().add_(1.0)
        return torch.linalg.solve(gram, x.mT @ y)
