"""Leaves out the very last element.

task: chain
expect: wrong_values|tampered|rejected
devices: cpu|cuda
catalogue: C18
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)
        out.view(-1)[-1] = 0
        return out
