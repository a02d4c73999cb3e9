"""Clamps the state by two operators, in place."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, state, x):
        state.clip_(max=8.0).clip_(min=-8.0)
        return x + state
