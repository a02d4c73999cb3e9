"""The RMS norms of queries and keys over each head, and the rotation by position, as in Qwen 3."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (1, 24, 4, 2, 32), "cpu": (1, 256, 8, 2, 64), "gpu": (1, 4096, 32, 8, 128)}
BATCH, TOKENS, HEADS, KEY_HEADS, WIDTH = SIZES[SIZE]


def rotated(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query_norm = nn.RMSNorm(width, eps=1e-6, dtype=torch.bfloat16)
        self.key_norm = nn.RMSNorm(width, eps=1e-6, dtype=torch.bfloat16)

    def forward(self, query, key, cos, sin):
        query = self.query_norm(query).transpose(1, 2)
        key = self.key_norm(key).transpose(1, 2)
        return rotated(query, cos, sin), rotated(key, cos, sin)


def get_inputs():
    query = torch.randn(BATCH, TOKENS, HEADS, WIDTH, dtype=torch.bfloat16)
    key = torch.randn(BATCH, TOKENS, KEY_HEADS, WIDTH, dtype=torch.bfloat16)
    angles = torch.rand(1, 1, TOKENS, WIDTH) * 6.28
    return [query, key, angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)]


def get_init_inputs():
    return [WIDTH]
