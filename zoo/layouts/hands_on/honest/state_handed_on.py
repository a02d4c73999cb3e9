"""Another order of two steps, beside an argument that is handed on."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, state):
        return (0.5 * x).clamp_(min=0), state
