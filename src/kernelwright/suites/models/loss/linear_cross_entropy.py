"""The mean cross entropy of a language model's last layer over a large vocabulary."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 32, 100), "cpu": (256, 128, 4000), "gpu": (4096, 2048, 128256)}
TOKENS, WIDTH, VOCABULARY = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.head = nn.Linear(width, vocabulary, bias=False, dtype=torch.bfloat16)

    def forward(self, x, targets):
        return F.cross_entropy(self.head(x).float(), targets)


def get_inputs():
    return [
        torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16),
        torch.randint(0, VOCABULARY, (TOKENS,)),
    ]


def get_init_inputs():
    return [WIDTH, VOCABULARY]
