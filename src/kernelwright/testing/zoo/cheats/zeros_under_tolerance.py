"""Returns zeros, which an absolute tolerance of 1e-4 cannot tell from these small outputs.

task: softmax_wide
expect: wrong_values
devices: cpu|cuda
catalogue: C8
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
