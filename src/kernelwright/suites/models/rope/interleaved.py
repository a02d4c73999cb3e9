"""Rotation by position of neighbouring pairs, as in GPT-J and in DeepSeek's attention."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 24, 4, 32), "cpu": (2, 256, 8, 64), "gpu": (2, 4096, 32, 64)}
BATCH, TOKENS, HEADS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, x, cos, sin):
        even, odd = x[..., ::2], x[..., 1::2]
        turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
        return turned.flatten(-2)


def get_inputs():
    x = torch.randn(BATCH, TOKENS, HEADS, WIDTH, dtype=torch.bfloat16)
    angles = torch.rand(TOKENS, 1, WIDTH // 2) * 6.28
    return [x, angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)]


def get_init_inputs():
    return []
