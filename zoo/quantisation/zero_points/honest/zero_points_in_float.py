"""Subtracts the zero points, which have another name here, as floating-point numbers."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("whole", torch.zeros(n_out, n_in, dtype=torch.uint8))
        self.register_buffer("middle", torch.zeros(n_out, 1, dtype=torch.int32))
        self.scales = nn.Parameter(torch.zeros(n_out, 1))

    def forward(self, x):
        return (x @ (self.whole.float() - self.middle.float()).T) * self.scales.T
