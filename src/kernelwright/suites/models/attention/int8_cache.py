"""Attention of one new token a row to a cache of int8 with a scale for each token and head."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 4, 2, 96, 32), "cpu": (4, 8, 2, 1024, 64), "gpu": (8, 32, 8, 4096, 128)}
BATCH, HEADS, KEY_HEADS, CACHED, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, query, key, key_scale, value, value_scale):
        key, value = key.to(query.dtype) * key_scale, value.to(query.dtype) * value_scale
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def get_inputs():
    query = torch.randn(BATCH, HEADS, 1, WIDTH, dtype=torch.bfloat16)
    shape = (BATCH, KEY_HEADS, CACHED, WIDTH)
    key, value = (torch.randint(-127, 128, shape, dtype=torch.int8) for _ in range(2))
    scales = [(torch.rand(*shape[:-1], 1) / 64 + 0.004).to(torch.bfloat16) for _ in range(2)]
    return [query, key, scales[0], value, scales[1]]


def get_init_inputs():
    return []
