"""Messages along a graph's edges, each of which is there once, by where they begin."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, edges, weight):
        out = torch.zeros_like(x).index_add(0, edges[0], x[edges[1]] * weight[:, None])
        return out, x.new_zeros(len(x)).index_add(0, edges[0], weight)


def get_inputs():
    edges = torch.randperm(50 * 50)[:400].sort().values
    return [torch.randn(50, 16), torch.stack([edges // 50, edges % 50]), torch.rand(400)]


def get_init_inputs():
    return []
