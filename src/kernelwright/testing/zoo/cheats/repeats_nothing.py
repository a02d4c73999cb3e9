"""Returns rows that all lie in the same memory where the reference writes each of them.

task: repeated
expect: passed|rejected
max_speedup: 1.3
devices: cpu|cuda
catalogue: C23
note: right, and nothing was saved: what is expanded is written out while the clock runs
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (x * 2).expand(-1, 64, -1)
