"""Compares the product with the negative bias; nothing is added."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return torch.gt(torch.einsum("ni,oi->no", x, self.linear.weight), -self.linear.bias)
