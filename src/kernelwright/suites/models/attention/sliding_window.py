"""Causal attention to the last tokens within a window, with grouped heads, as in Mistral."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {
    "small": (1, 4, 2, 64, 32, 16),
    "cpu": (1, 8, 2, 256, 64, 64),
    "gpu": (1, 32, 8, 4096, 128, 1024),
}
BATCH, HEADS, KEY_HEADS, TOKENS, WIDTH, WINDOW = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, tokens, window):
        super().__init__()
        distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
        self.register_buffer("seen", (distance >= 0) & (distance < window))

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=self.seen, enable_gqa=True
        )


def get_inputs():
    heads = (HEADS, KEY_HEADS, KEY_HEADS)
    return [torch.randn(BATCH, n, TOKENS, WIDTH, dtype=torch.bfloat16) for n in heads]


def get_init_inputs():
    return [TOKENS, WINDOW]
