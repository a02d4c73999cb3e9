"""Compares in bfloat16, so that close numbers tie and the wrong one wins.

task: argmax
expect: wrong_values
devices: cpu|cuda
catalogue: C19
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x.bfloat16(), dim=1)
