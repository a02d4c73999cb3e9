"""Rounds to ten bits of mantissa before the transform.

task: spectrum
expect: wrong_values
devices: cpu|cuda
catalogue: C19
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x.half().float())
