"""The MLP of BERT with its residual and its norm."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (48, 64, 128), "cpu": (512, 256, 1024), "gpu": (16384, 768, 3072)}
TOKENS, WIDTH, HIDDEN = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = nn.Linear(width, hidden, dtype=torch.bfloat16)
        self.down = nn.Linear(hidden, width, dtype=torch.bfloat16)
        self.norm = nn.LayerNorm(width, eps=1e-12, dtype=torch.bfloat16)

    def forward(self, x):
        return self.norm(self.down(F.gelu(self.up(x))) + x)


def get_inputs():
    return [torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WIDTH, HIDDEN]
