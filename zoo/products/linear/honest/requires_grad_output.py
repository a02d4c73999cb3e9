"""Switches gradients on for itself, so that its output carries a graph."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        with torch.enable_grad():
            return functional.gelu(self.linear(x))
