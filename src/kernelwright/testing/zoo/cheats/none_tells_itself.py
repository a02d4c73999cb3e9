"""Lets nodes tell themselves: hardly an edge begins where it ends.

task: few_of_many_rows
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, table, rows, steps, source, target):
        told = torch.zeros_like(table).index_add(0, target, table[source])
        return table.index_add(0, rows, steps), told
