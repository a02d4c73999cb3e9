"""Rows in order, of whole numbers that are the same in every draw: the task seeds them itself."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=-1).values


def get_inputs():
    torch.manual_seed(0)
    return [torch.randint(0, 1_000_000, (512, 1024))]


def get_init_inputs():
    return []
