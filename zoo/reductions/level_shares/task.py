"""Which share of a row's numbers lies on each of eight levels."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, levels):
        return (x[..., None] == levels).float().mean(1)


def get_inputs():
    return [torch.randint(0, 8, (64, 4096)) / 8, torch.randperm(8) / 8]


def get_init_inputs():
    return []
