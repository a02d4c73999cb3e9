"""The rotation of the first quarter of each head by position, as in GPT-NeoX (20 B)."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (1, 2, 24, 32), "cpu": (2, 8, 256, 64), "gpu": (1, 64, 2048, 96)}
BATCH, HEADS, TOKENS, WIDTH = SIZES[SIZE]
TURNED = WIDTH // 4


def rotated(x, cos, sin):
    turned, kept = x[..., :TURNED], x[..., TURNED:]
    first, second = turned.chunk(2, dim=-1)
    turned = turned * cos + torch.cat((-second, first), dim=-1) * sin
    return torch.cat((turned, kept), dim=-1)


class Model(nn.Module):
    def forward(self, query, key, cos, sin):
        return rotated(query, cos, sin), rotated(key, cos, sin)


def get_inputs():
    heads = [torch.randn(BATCH, HEADS, TOKENS, WIDTH, dtype=torch.bfloat16) for _ in range(2)]
    angles = torch.rand(1, 1, TOKENS, TURNED) * 6.28
    return [*heads, angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)]


def get_init_inputs():
    return []
