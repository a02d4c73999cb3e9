"""The gate of Mamba 2 (2.7 B) and the RMS norm that follows it."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 24, 64), "cpu": (2, 256, 512), "gpu": (4, 2048, 5120)}
BATCH, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width, dtype=torch.bfloat16) + 0.5)

    def forward(self, x, gate):
        x = x.float() * F.silu(gate.float())
        normal = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-5)
        return self.weight * normal.to(gate.dtype)


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH, dtype=torch.bfloat16) for _ in range(2)]


def get_init_inputs():
    return [WIDTH]
