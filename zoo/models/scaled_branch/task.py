"""A norm and, beside it, a perceptron that a learned scale of 1e-6 lets in slowly, as training
goes on."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.gamma = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        x = self.norm(x)
        return x + self.gamma * self.down(nn.functional.gelu(self.up(x)))


def get_inputs():
    return [torch.randn(512, 256)]


def get_init_inputs():
    return [256]
