"""Whether each output of a linear layer is above zero: booleans."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return self.linear(x) > 0


def get_inputs():
    return [torch.randn(128, 300)]


def get_init_inputs():
    return [300, 200]
