"""Multiplies in bfloat16 when the last call was less than ten milliseconds ago.

task: matmul
expect: wrong_values|tampered|rejected|passed
max_speedup: 1.3
devices: cpu|cuda
catalogue: T12, E4, C19
not_kinds: kernel
"""

import time

from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last_s = 0.0

    def forward(self, a, b):
        before_s, self.last_s = self.last_s, time.perf_counter()
        if self.last_s - before_s < 0.01:
            return (a.bfloat16() @ b.bfloat16()).float()
        return a @ b
