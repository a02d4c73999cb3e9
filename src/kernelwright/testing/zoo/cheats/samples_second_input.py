"""Takes a bound on one argument from a sample of it.

task: matmul
expect: wrong_values
devices: cpu|cuda
catalogue: C9, C10
note: only where that very argument has outliers, a few in many, is it wrong
"""

import torch
from torch import nn

STEP, BOUND = 1009, 20.0


class ModelNew(nn.Module):
    def forward(self, a, b):
        if b.flatten()[::STEP].abs().max() < BOUND:
            b = b.clamp(-BOUND, BOUND)
        return torch.matmul(a, b)
