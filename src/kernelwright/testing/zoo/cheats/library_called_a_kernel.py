"""Calls the library and is submitted as C++.

task: matmul
expect: passed
not_kinds: kernel
devices: cpu
catalogue: F1
dialect: cpp
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
