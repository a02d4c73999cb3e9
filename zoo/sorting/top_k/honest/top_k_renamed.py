"""Returns a named tuple of its own in place of the library's."""

from typing import NamedTuple

import torch
from torch import nn


class Best(NamedTuple):
    values: torch.Tensor
    places: torch.Tensor


class ModelNew(nn.Module):
    def forward(self, x):
        return Best(*torch.topk(x, 8, dim=1, sorted=True))
