"""Computes a new state apart and copies it over the old one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, state, x):
        new = torch.add(torch.tanh(x), state, alpha=0.9)
        state.copy_(new)
        return new.square_().sum(-1)
