"""Sums over the neighbours in a graph, whose edges a task draws with a seed of its own."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, edges):
        return torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])


def get_inputs():
    draw = torch.Generator().manual_seed(7)
    return [torch.randn(500, 32), torch.randint(0, 500, (2, 20000), generator=draw)]


def get_init_inputs():
    return []
