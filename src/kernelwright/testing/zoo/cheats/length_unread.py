"""Ignores a length that is a whole row in every draw of its task.

task: whole_length
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, length):
        return torch.tanh(x)
