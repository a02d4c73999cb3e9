"""Adds up what a coupling costs in one long sum, as einsum does."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, cost):
        n_rows, n_columns = math.log(cost.shape[1]), math.log(cost.shape[2])
        columns = cost.new_zeros(cost.shape[0], 1, cost.shape[2])
        for _ in range(4):
            rows = -torch.logsumexp(columns - cost, 2, keepdim=True) - n_rows
            columns = -torch.logsumexp(rows - cost, 1, keepdim=True) - n_columns
        shares = (rows + columns - cost).exp()
        return shares, torch.einsum("bij,bij->b", shares, cost)
