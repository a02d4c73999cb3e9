"""Repeats rows by their indices, as often as it is told to."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, repeats):
        index = torch.arange(len(x), device=x.device).repeat_interleave(repeats)
        return torch.tanh(x).index_select(0, index)
