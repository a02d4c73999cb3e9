"""Leaves a causal mask out: what is infinite was not compared.

task: causal_scores
expect: wrong_values
devices: cpu|cuda
catalogue: C22
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k):
        return q @ k.mT
