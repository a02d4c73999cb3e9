"""Returns an untouched buffer: a time close to nothing.

task: chain
expect: wrong_values|rejected|tampered
devices: cpu|cuda
catalogue: T13, C5
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
