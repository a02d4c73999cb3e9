"""Counts the events that are earlier."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, events, asked):
        earlier = (events[:, 0] <= asked[:, None]).sum(1)
        found = events[(earlier - 1).clamp(min=0)]
        return found[:, 1].clone(), torch.exp(found[:, 0] - asked)
