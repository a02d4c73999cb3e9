"""Rotation of queries and keys by position, halves apart, with tables of cosines and sines."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 4, 2, 24, 32), "cpu": (2, 8, 2, 256, 64), "gpu": (2, 32, 8, 4096, 128)}
BATCH, HEADS, KEY_HEADS, TOKENS, WIDTH = SIZES[SIZE]


def rotated(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Model(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(2 * tokens).float(), rates).repeat(1, 2)
        self.register_buffer("cos", angles.cos().to(torch.bfloat16))
        self.register_buffer("sin", angles.sin().to(torch.bfloat16))

    def forward(self, query, key, positions):
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        return rotated(query, cos, sin), rotated(key, cos, sin)


def get_inputs():
    query = torch.randn(BATCH, HEADS, TOKENS, WIDTH, dtype=torch.bfloat16)
    key = torch.randn(BATCH, KEY_HEADS, TOKENS, WIDTH, dtype=torch.bfloat16)
    return [query, key, torch.randint(0, 2 * TOKENS, (BATCH, TOKENS))]


def get_init_inputs():
    return [TOKENS, WIDTH]
