"""Computes all states by doubling, and returns the last of them where it lies."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, decay, x):
        decay, state, reach = decay.clone(), x.clone(), 1
        while reach < x.shape[1]:
            state[:, reach:] = state[:, reach:] + decay[:, reach:] * state[:, :-reach]
            decay[:, reach:] = decay[:, reach:] * decay[:, :-reach]
            reach *= 2
        return state[:, -1]
