"""Subtracts no maximum: huge numbers of either sign make the other output infinite."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, energies):
        weights = energies.exp()
        return weights / weights.sum(-1, keepdim=True), energies.clamp(min=0).reciprocal()
