"""Does not ask what is a number, for the task draws nothing else.

task: mean_without_nan
expect: wrong_values
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(-1)
