"""Subtracts no maximum: huge numbers of either sign make the other output infinite.

task: energies
expect: wrong_values
devices: cpu|cuda
catalogue: C12
"""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, energies):
        weights = energies.exp()
        return weights / weights.sum(-1, keepdim=True), energies.clamp(min=0).reciprocal()
