"""A coupling of points that differ in cost, and what it costs in all: a large result and a sum."""

import math

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, cost):
        rows = cost.new_zeros(cost.shape[0], cost.shape[1])
        columns = cost.new_zeros(cost.shape[0], cost.shape[2])
        for _ in range(4):
            rows = -(columns[:, None] - cost).logsumexp(2) - math.log(cost.shape[1])
            columns = -(rows[..., None] - cost).logsumexp(1) - math.log(cost.shape[2])
        shares = (rows[..., None] + columns[:, None] - cost).exp()
        return shares, (shares * cost).sum((1, 2))


def get_inputs():
    return [torch.rand(4, 48, 32)]


def get_init_inputs():
    return []
