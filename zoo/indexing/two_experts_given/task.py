"""Each row goes through the two experts that are named for it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_experts, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_experts, width, width) / width**0.5)

    def forward(self, x, gates, experts):
        out = torch.zeros_like(x)
        for number in range(self.weight.shape[0]):
            row, place = torch.where(experts == number)
            told = (x[row] @ self.weight[number]) * gates[row, place, None]
            out = out.index_add(0, row, told)
        return out


def get_inputs():
    gates, experts = torch.randn(256, 8).softmax(-1).topk(2, -1)
    return [torch.randn(256, 32), gates, experts]


def get_init_inputs():
    return [8, 32]
