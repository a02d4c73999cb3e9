"""Leaves the columns after the last whole tile of 64 unwritten.

task: softmax
expect: wrong_values|tampered|rejected
devices: cpu|cuda
catalogue: C1
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        whole = x.shape[1] // 64 * 64
        out[:, :whole] = torch.softmax(x, dim=1)[:, :whole]
        return out
