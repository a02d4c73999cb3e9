"""Each row goes through the expert that is named for it."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_experts, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_experts, width, width) / width**0.5)

    def forward(self, x, expert):
        out = torch.zeros_like(x)
        for number in range(self.weight.shape[0]):
            mine = (expert == number).nonzero()[:, 0]
            out[mine] = x[mine] @ self.weight[number]
        return out


def get_inputs():
    return [torch.randn(1024, 128), torch.randint(8, (1024,))]


def get_init_inputs():
    return [8, 128]
