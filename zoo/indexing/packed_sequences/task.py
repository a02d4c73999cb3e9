"""Sums of sequences that lie one behind the other; those of every draw are as long."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, starts):
        rows = torch.arange(len(x), device=x.device)
        owner = torch.searchsorted(starts[1:].contiguous(), rows, right=True)
        return x.new_zeros(len(starts) - 1, x.shape[1]).index_add(0, owner, x)


def get_inputs():
    return [torch.randn(512, 32), torch.arange(0, 513, 32)]


def get_init_inputs():
    return []
