"""Attention that returns no weights, but None."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)


def get_inputs():
    return [torch.randn(4, 64, 32)]


def get_init_inputs():
    return []
