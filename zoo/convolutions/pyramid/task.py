"""Levels of a pyramid: lists in, lists and tuples of several sizes out."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(self, levels):
        pooled = [functional.avg_pool2d(level, 2) for level in levels]
        return pooled, (levels[0].amax(), levels[1].mean(dim=(2, 3)))


def get_inputs():
    return [[torch.randn(2, 6, 64, 64), torch.randn(2, 6, 32, 32)]]


def get_init_inputs():
    return []
