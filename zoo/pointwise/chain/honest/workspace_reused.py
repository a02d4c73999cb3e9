"""Keeps a workspace between calls and returns fresh memory."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.space = None

    def forward(self, x):
        if self.space is None or self.space.shape != x.shape:
            self.space = torch.empty(x.shape, device=x.device)
        torch.exp(torch.neg(torch.square(x, out=self.space), out=self.space), out=self.space)
        return torch.tanh(x).mul_(torch.sigmoid(x)).add_(self.space)
