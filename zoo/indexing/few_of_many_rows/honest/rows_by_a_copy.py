"""Adds to a copy, and leaves out edges from a node to itself."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows, steps, source, target):
        is_other = source != target
        told = torch.zeros_like(table)
        told.index_add_(0, target[is_other], table[source[is_other]])
        return table.clone().index_add_(0, rows, steps), told
