"""A state that is updated in place, and the energies of its rows."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, state, x):
        state.mul_(0.9).add_(torch.tanh(x))
        return state.square().sum(-1)


def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]


def get_init_inputs():
    return []
