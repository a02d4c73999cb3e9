"""Log-softmax over the columns of a transposed matrix: the input is not contiguous."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log_softmax(x, dim=0)


def get_inputs():
    return [torch.randn(300, 260).t()]


def get_init_inputs():
    return []
