"""Sums the beginning of each row by itself."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, lengths):
        return torch.stack([row[:n].sum(0) for row, n in zip(x, lengths.tolist(), strict=True)])
