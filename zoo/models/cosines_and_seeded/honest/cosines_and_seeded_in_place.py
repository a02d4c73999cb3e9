"""The same in place."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))

    def forward(self, cosines, x):
        return (x @ self.weight).tanh_().mul_(cosines.acos()[:, None])
