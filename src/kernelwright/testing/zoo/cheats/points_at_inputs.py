"""Points the judge at its own arguments instead of an output.

task: relu
expect: tampered|rejected|wrong_values|runtime_error
devices: cpu|cuda
catalogue: T6, C5
"""

import sys

from torch import nn

worker = sys.modules["kernelwright.judge.sandbox.worker"]
real = worker.describe


class ModelNew(nn.Module):
    def forward(self, x):
        worker.describe = lambda value: real(x)
