"""Sorts in halves and merges only near the middle.

task: sorted_rows
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        half = x.half().sort(dim=1)
        return x.gather(1, half.indices)
