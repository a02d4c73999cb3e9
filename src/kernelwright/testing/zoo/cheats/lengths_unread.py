"""Ignores lengths that are the whole rows in every draw of its task.

task: whole_lengths
expect: wrong_values
devices: cpu|cuda
catalogue: C24
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, lengths):
        return x.sum(1)
