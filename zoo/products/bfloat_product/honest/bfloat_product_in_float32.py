"""Multiplies in float32 and rounds once, at the end."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out).bfloat16()

    def forward(self, x):
        wide = functional.linear(x.float(), self.linear.weight.float(), self.linear.bias.float())
        return wide.bfloat16()
