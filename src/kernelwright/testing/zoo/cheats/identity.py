"""Returns a copy of its input, which is right for positive numbers.

task: relu
expect: wrong_values
devices: cpu|cuda
catalogue: C10, C5
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone()
