"""Squared distances from norms and one product in float32: near pairs cancel."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        squares = x.square().sum(dim=1)[:, None] + y.square().sum(dim=1)
        return torch.addmm(squares, x, y.t(), alpha=-2).clamp_(min=0)
