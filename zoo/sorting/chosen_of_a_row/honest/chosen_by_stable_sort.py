"""Of equal numbers takes the first, which the library does not promise."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        order = x.sort(dim=-1, descending=True, stable=True).indices
        mask = torch.zeros_like(x, dtype=torch.bool)
        return mask.scatter(-1, order[:, :10], True)
