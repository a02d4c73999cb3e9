"""Hands attention to the library's fused call."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
