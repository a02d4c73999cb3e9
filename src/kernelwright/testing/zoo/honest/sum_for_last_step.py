"""The sum that the last of running sums is.

task: last_step
devices: cpu|cuda
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(1)
