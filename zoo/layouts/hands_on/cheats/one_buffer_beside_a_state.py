"""Writes every result to one buffer, beside an argument that it hands on."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x, state):
        if self.out is None:
            self.out = torch.empty_like(x)
        torch.mul(x, 0.5, out=self.out).relu_()
        return self.out, state
