"""A slope for what is below zero."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return torch.where(x < 0, self.slope * x, x)
