"""Without the guard: a row of noughts becomes NaN.

task: unit_rows
expect: wrong_values
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / x.norm(dim=-1, keepdim=True)
