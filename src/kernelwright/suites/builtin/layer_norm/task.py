"""Layer norm of tokens whose means differ."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 32, 192), "cpu": (16, 512, 768), "gpu": (16, 2048, 2048)}
BATCH, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH) + torch.randn(BATCH, TOKENS, 1) * 100.0]


def get_init_inputs():
    return [WIDTH]
