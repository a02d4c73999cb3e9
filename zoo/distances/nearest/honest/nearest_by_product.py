"""Nearest rows by the expanded square: one product, no distances."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_codes, width):
        super().__init__()
        self.codes = nn.Parameter(torch.empty(n_codes, width))

    def forward(self, x):
        halves = 0.5 * self.codes.square().sum(dim=1)
        return torch.addmm(halves, x, self.codes.t(), alpha=-1.0).argmin(dim=1)
