"""Right for a dozen calls, then it aborts."""

import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_calls = 0

    def forward(self, x):
        self.n_calls += 1
        if self.n_calls > 12:
            os.abort()
        return torch.softmax(x, dim=1)
