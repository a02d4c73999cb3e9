"""torch.compile for any number of rows, as one graph."""

import torch
from torch import nn
from torch.nn import functional


@torch.compile(dynamic=True, fullgraph=True)
def run(x, weight, bias):
    return torch.softmax(functional.linear(x, weight, bias), dim=-1)


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return run(x, self.linear.weight, self.linear.bias)
