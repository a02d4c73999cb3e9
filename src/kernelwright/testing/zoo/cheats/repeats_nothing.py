"""Returns rows that all lie in the same memory where the reference writes each of them.

task: repeated
expect: rejected
devices: cpu|cuda
catalogue: C23
note: nobody can write to one of its numbers without writing to others
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (x * 2).expand(-1, 64, -1)
