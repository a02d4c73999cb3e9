"""A pre-norm transformer block: attention and a feed-forward layer, each with its residual."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (2, 24, 64, 4), "cpu": (2, 128, 256, 4), "gpu": (4, 512, 1024, 16)}
BATCH, TOKENS, WIDTH, HEADS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.narrow(F.gelu(self.widen(self.norm2(x))))

    def attend(self, x):
        batch, tokens, width = x.shape
        parts = self.project_in(x).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-2, -1) * (width // self.heads) ** -0.5
        mixed = torch.softmax(scores, dim=-1) @ value
        return self.project_out(mixed.transpose(1, 2).reshape(batch, tokens, width))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH)]


def get_init_inputs():
    return [WIDTH, HEADS]
