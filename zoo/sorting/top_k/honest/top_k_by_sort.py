"""The largest from a whole sort, as a plain tuple of slices."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, places = torch.sort(x, dim=1, descending=True)
        return values[:, :8], places[:, :8]
