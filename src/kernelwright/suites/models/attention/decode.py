"""Attention of one new token a row to a cache of keys and values, with grouped heads."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 4, 2, 96, 32), "cpu": (4, 8, 2, 1024, 64), "gpu": (8, 32, 8, 4096, 128)}
BATCH, HEADS, KEY_HEADS, CACHED, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def get_inputs():
    query = torch.randn(BATCH, HEADS, 1, WIDTH, dtype=torch.bfloat16)
    cache = [torch.randn(BATCH, KEY_HEADS, CACHED, WIDTH, dtype=torch.bfloat16) for _ in range(2)]
    return [query, *cache]


def get_init_inputs():
    return []
