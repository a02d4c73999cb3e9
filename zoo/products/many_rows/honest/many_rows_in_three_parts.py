"""A product of three bfloat16 parts of each factor, which together are float32's mantissa."""

import torch
from torch import nn


def parts(x, n):
    found = []
    for _ in range(n):
        found.append(x.bfloat16().float())
        x = x - found[-1]
    return found


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        mine, weights = parts(x, 3), parts(self.linear.weight.mT, 3)
        small = sum(a @ b for i, a in enumerate(mine) for j, b in enumerate(weights) if i + j)
        return torch.relu(mine[0] @ weights[0] + small + self.linear.bias)
