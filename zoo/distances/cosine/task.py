"""Cosine similarities of all pairs of rows."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(self, x, y):
        return functional.normalize(x, dim=1) @ functional.normalize(y, dim=1).t()


def get_inputs():
    return [torch.randn(200, 128), torch.randn(220, 128)]


def get_init_inputs():
    return []
