"""The softmax of a row where its mask keeps something, and zeros where it keeps nothing."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, scores, keep):
        weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
        return torch.nan_to_num(weights, nan=0.0)


def get_inputs():
    keep = torch.rand(8, 128, 128) < 0.5
    keep[torch.rand(8, 128) < 0.1] = False
    return [torch.randn(8, 128, 128), keep]


def get_init_inputs():
    return []
