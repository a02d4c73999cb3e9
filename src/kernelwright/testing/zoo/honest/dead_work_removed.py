"""Leaves out work that changes nothing: less work for the same function.

task: dead_work
devices: cpu|cuda
not_kinds: kernel
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
