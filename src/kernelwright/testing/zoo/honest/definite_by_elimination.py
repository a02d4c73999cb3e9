"""Solves by elimination what the reference solves by its root: as exact, and more work.

task: definite_given
devices: cpu|cuda
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, right):
        return torch.linalg.solve(x, right)
