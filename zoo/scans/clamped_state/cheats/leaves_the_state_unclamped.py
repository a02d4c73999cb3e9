"""Clamps what it adds to, and leaves the state as it is: the task's own is within bounds."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, state, x):
        return state.clamp(-8.0, 8.0) + x
