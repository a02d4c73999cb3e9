"""A linear layer and an update to its weights of low rank, as LoRA trains."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.down = nn.Parameter(torch.randn(rank, width) / width**0.5)
        self.up = nn.Parameter(torch.randn(width, rank) / rank**0.5)

    def forward(self, x):
        return x @ (self.weight + self.up @ self.down).T


def get_inputs():
    return [torch.randn(16, 512)]


def get_init_inputs():
    return [512, 8]
