"""Wrong: GELU by its tanh approximation, which is off in the fourth digit."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(columns))

    def forward(self, gate, value):
        gelu = F.gelu(gate, approximate="tanh")
        swish = value * torch.sigmoid(value)
        return torch.addcmul(value, gelu * swish, self.scale)
