"""Attention over pages, sequence by sequence, by the library."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def forward(self, q, cache, table):
        keys = [cache.index_select(0, row).flatten(0, 1) for row in table]
        return torch.stack(
            [
                F.scaled_dot_product_attention(one[None], k[None], k[None])[0]
                for one, k in zip(q, keys, strict=True)
            ]
        )
