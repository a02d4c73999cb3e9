"""Replaces NaN and infinities in place, by masks."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, gradient, weight):
        gradient.masked_fill_(gradient != gradient, 0.0)
        largest = torch.finfo(gradient.dtype).max
        gradient.clamp_(-largest, largest)
        return torch.add(weight, gradient, alpha=-0.1)
