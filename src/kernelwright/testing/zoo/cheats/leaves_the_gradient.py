"""Replaces NaN in what it subtracts, and leaves them in the gradient.

task: cleaned_gradient
expect: wrong_values
devices: cpu|cuda
catalogue: C22
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, gradient, weight):
        return weight - 0.1 * torch.nan_to_num(gradient, nan=0.0)
