"""Returns float16 where float32 is due.

task: matmul
expect: wrong_dtype
devices: cpu|cuda
catalogue: C19, C20
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a @ b).half()
