"""Without the guard: a row of noughts becomes NaN, which no draw of the task's own has.

task: unit_rows
expect: passed
warns: not finite
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / x.norm(dim=-1, keepdim=True)
