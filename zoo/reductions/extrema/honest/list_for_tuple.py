"""Takes both outputs from one call, which gives them as a named tuple."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        extrema = torch.aminmax(x, dim=1)
        return extrema.min, extrema.max
