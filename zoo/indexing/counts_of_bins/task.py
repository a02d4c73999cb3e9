"""How many numbers fall into each of 64 bins between the least and the most."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        share = (x - x.min()) / (x.max() - x.min())
        return torch.bincount((share * 64).long().clamp(0, 63), minlength=64)


def get_inputs():
    return [torch.rand(200000)]


def get_init_inputs():
    return []
