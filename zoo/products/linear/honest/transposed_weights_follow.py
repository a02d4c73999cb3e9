"""Keeps transposed weights and makes them anew whenever the version counter has moved."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.turned, self.seen = None, None

    def forward(self, x):
        weight = self.linear.weight
        state = (weight._version, weight.data_ptr())
        if state != self.seen:
            self.turned, self.seen = weight.detach().t().contiguous(), state
        return functional.gelu(torch.addmm(self.linear.bias, x, self.turned))
