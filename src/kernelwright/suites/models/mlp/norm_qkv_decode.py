"""The norm of a step of decoding and the products with queries, keys and values behind it."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 64, 64, 32), "cpu": (8, 512, 512, 128), "gpu": (8, 4096, 4096, 1024)}
TOKENS, WIDTH, QUERIES, KEYS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, queries, keys):
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5, dtype=torch.bfloat16)
        self.query = nn.Linear(width, queries, bias=False, dtype=torch.bfloat16)
        self.key = nn.Linear(width, keys, bias=False, dtype=torch.bfloat16)
        self.value = nn.Linear(width, keys, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        x = self.norm(x)
        return self.query(x), self.key(x), self.value(x)


def get_inputs():
    return [torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WIDTH, QUERIES, KEYS]
