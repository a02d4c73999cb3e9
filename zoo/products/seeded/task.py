"""A product of matrices whose inputs are the same in every draw: the task seeds them itself."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tanh(a @ b)


def get_inputs():
    torch.manual_seed(0)
    return [torch.randn(384, 1024), torch.randn(1024, 384)]


def get_init_inputs():
    return []
