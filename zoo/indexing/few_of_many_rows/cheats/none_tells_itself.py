"""Lets nodes tell themselves: hardly an edge begins where it ends."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows, steps, source, target):
        told = torch.zeros_like(table).index_add(0, target, table[source])
        return table.index_add(0, rows, steps), told
