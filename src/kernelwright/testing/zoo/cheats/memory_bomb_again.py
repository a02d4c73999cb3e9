"""Grows by a little in every call and never lets go.

task: softmax
expect: runtime_error|tampered|rejected|timeout|passed
not_kinds: kernel
devices: cpu
catalogue: E3
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x):
        self.kept.append(torch.ones(1 << 23))
        return torch.softmax(x, dim=1)
