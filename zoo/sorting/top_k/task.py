"""The eight largest numbers of each row, and where they stand: a named tuple."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.topk(x, 8, dim=1)


def get_inputs():
    return [torch.randn(256, 600)]


def get_init_inputs():
    return []
