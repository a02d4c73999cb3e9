"""Calls bytes booleans as they are, whichever of their bits is set.

task: flags_set
expect: wrong_values
devices: cpu|cuda
catalogue: C20
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, flags):
        return (flags & 6).view(torch.bool)
