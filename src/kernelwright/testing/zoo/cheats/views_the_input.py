"""Returns the transposed view where the task lays the matrix out anew.

task: copy_of
expect: rejected|tampered|wrong_values
devices: cpu|cuda
catalogue: C5, T3
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.t()
