"""Wrong: torch's default epsilon in place of the one that was given."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight)
