"""Calls a module without state of its own, with its parameters handed over."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        object.__setattr__(self, "bare", nn.Linear(n_in, n_out, device="meta"))

    def forward(self, x):
        state = dict(self.linear.named_parameters())
        return torch.softmax(torch.func.functional_call(self.bare, state, (x,)), dim=-1)
