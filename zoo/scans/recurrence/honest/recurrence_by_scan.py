"""The recurrence by doubling steps, a scan over pairs of gate and value."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(width))

    def forward(self, x):
        states, decay, step = x.clone(), torch.sigmoid(self.decay), 1
        while step < x.shape[1]:
            states[:, step:] += decay * states[:, :-step].clone()
            decay, step = decay * decay, 2 * step
        return states
