"""The library's fused attention."""

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future)

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)
