"""Leaves out a product that changes nothing, with the library's own code.

task: dead_product
expect: passed
kinds: algebra
not_kinds: kernel
devices: cpu|cuda
catalogue: C7
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.relu(a)
