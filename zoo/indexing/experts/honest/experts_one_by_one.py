"""Gives each expert its own rows; of equal scores it prefers another one."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 8, bias=False)
        self.weight = nn.Parameter(torch.randn(8, 32, 32) / 6)
        self.bias = nn.Parameter(torch.randn(8, 32))

    def forward(self, x):
        scores = self.gate(x).flip(-1)
        best, first = scores.max(-1)
        second, other = scores.scatter(-1, first[:, None], float("-inf")).max(-1)
        share = torch.stack([best, second], -1).softmax(-1)
        y = torch.zeros_like(x)
        for place, chosen in enumerate((first, other)):
            for expert in range(8):
                rows = (chosen == 7 - expert).nonzero()[:, 0]
                found = x[rows] @ self.weight[expert] + self.bias[expert]
                y.index_add_(0, rows, share[rows, place, None] * found)
        return y
