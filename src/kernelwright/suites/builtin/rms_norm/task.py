"""RMS norm of tokens whose magnitudes differ by orders, so that the epsilon counts."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (64, 256), "cpu": (4096, 1024), "gpu": (16384, 4096)}
TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps

    def forward(self, x):
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


def get_inputs():
    return [torch.randn(TOKENS, WIDTH) * 10.0 ** (-3.0 * torch.rand(TOKENS, 1))]


def get_init_inputs():
    return [WIDTH, 1e-6]
