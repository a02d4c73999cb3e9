"""Logits with a penalty for tokens seen before, a temperature, and the softmax."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (3, 100), "cpu": (4, 8000), "gpu": (32, 128256)}
ROWS, VOCABULARY = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, repeated, often):
        super().__init__()
        self.repeated, self.often = repeated, often

    def forward(self, logits, counts, temperatures):
        logits = logits.float()
        is_seen = counts > 0
        scaled = torch.where(logits > 0, logits / self.repeated, logits * self.repeated)
        logits = torch.where(is_seen, scaled, logits) - self.often * counts
        return torch.softmax(logits / temperatures[:, None], dim=-1)


def get_inputs():
    logits = torch.randn(ROWS, VOCABULARY, dtype=torch.bfloat16) * 3
    return [logits, torch.randint(0, 4, (ROWS, VOCABULARY)), torch.rand(ROWS) + 0.5]


def get_init_inputs():
    return [1.1, 0.2]
