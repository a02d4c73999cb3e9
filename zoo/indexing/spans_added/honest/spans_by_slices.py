"""Takes the slices, whose ends are never before their beginnings."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, first, end):
        spans = zip(x, first.tolist(), end.tolist(), strict=True)
        return torch.stack([row[a:b].sum() for row, a, b in spans]), (end - first).float()
