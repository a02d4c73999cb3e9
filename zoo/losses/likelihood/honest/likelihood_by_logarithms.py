"""Adds both logarithms up, each held above minus a hundred."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, labels):
        yes, no = p.log().clamp(min=-100), torch.log1p(-p).clamp(min=-100)
        return -torch.lerp(no, yes, labels)
