"""The lower of two lines, clamped once, as knots rise."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, knots):
        a, b, c = knots.unbind(1)
        x = x.unsqueeze(1)
        return torch.minimum((x - a) / (b - a), (c - x) / (c - b)).clamp_min(0)
