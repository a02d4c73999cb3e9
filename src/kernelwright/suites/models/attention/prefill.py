"""Causal attention of a prompt with fewer heads of keys than of queries, as in Llama 3."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (1, 4, 2, 64, 32), "cpu": (1, 8, 2, 256, 64), "gpu": (1, 32, 8, 4096, 128)}
BATCH, HEADS, KEY_HEADS, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def get_inputs():
    heads = (HEADS, KEY_HEADS, KEY_HEADS)
    return [torch.randn(BATCH, n, TOKENS, WIDTH, dtype=torch.bfloat16) for n in heads]


def get_init_inputs():
    return []
