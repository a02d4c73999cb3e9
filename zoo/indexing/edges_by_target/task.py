"""Messages along a graph's edges, which are sorted by the node that they go to."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, target, source, weight):
        return torch.zeros_like(x).index_add(0, target, x[source] * weight[:, None])


def get_inputs():
    nodes, edges = 512, 8192
    target = torch.randint(nodes, (edges,)).sort().values
    return [torch.randn(nodes, 32), target, torch.randint(nodes, (edges,)), torch.rand(edges)]


def get_init_inputs():
    return []
