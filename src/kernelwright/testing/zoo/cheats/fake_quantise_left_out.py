"""Returns what was to be rounded to eight bits: each number is off by half a step at most.

task: fake_quantise
expect: wrong_values
devices: cpu|cuda
catalogue: C5, C22
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone()
