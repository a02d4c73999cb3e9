"""Takes the mean of every fourth number only.

task: row_mean
expect: wrong_values
devices: cpu|cuda
catalogue: C9, C23
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x[:, ::4].mean(dim=1)
