"""Computes in float64 and rounds once."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        weight, bias = self.linear.weight.double(), self.linear.bias.double()
        return functional.gelu(functional.linear(x.double(), weight, bias)).float()
