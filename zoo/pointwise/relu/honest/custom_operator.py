"""Registers an operator of its own with torch.library."""

import torch
from torch import nn


@torch.library.custom_op("zoo::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0)


class ModelNew(nn.Module):
    def forward(self, x):
        return positive(x)
