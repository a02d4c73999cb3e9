"""Squared distances between all pairs of rows."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y):
        return (x[:, None, :] - y[None, :, :]).square().sum(dim=-1)


def get_inputs():
    return [torch.randn(150, 40), torch.randn(170, 40)]


def get_init_inputs():
    return []
