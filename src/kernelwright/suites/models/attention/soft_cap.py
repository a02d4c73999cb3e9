"""Causal attention whose scores are capped by a tanh, as in Gemma 2."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (1, 2, 64, 32), "cpu": (1, 4, 256, 64), "gpu": (1, 16, 2048, 256)}
BATCH, HEADS, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, tokens, cap):
        super().__init__()
        self.cap = cap
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future)

    def forward(self, query, key, value):
        scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
        scores = torch.tanh(scores / self.cap) * self.cap
        scores = scores.masked_fill(self.future, float("-inf"))
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype) @ value


def get_inputs():
    return [torch.randn(BATCH, HEADS, TOKENS, WIDTH, dtype=torch.bfloat16) for _ in range(3)]


def get_init_inputs():
    return [TOKENS, 50.0]
