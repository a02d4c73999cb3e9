"""A linear recurrence along time, with a gate per channel."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(width))

    def forward(self, x):
        decay = torch.sigmoid(self.decay)
        state, states = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            state = decay * state + x[:, t]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs():
    return [torch.randn(8, 96, 64)]


def get_init_inputs():
    return [64]
