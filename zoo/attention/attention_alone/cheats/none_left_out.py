"""Attention that returns its output alone, where the reference returns None beside it."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]
