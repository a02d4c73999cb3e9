"""Returns the input itself, which is right for positive numbers.

task: relu
expect: wrong_values|rejected|tampered
devices: cpu|cuda
catalogue: C5, C10
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
