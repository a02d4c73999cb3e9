"""Rounds the product to bfloat16 before it adds the bias, which the library does not."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out).bfloat16()

    def forward(self, x):
        return x @ self.linear.weight.t() + self.linear.bias
