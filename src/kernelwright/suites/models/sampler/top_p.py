"""The probabilities that nucleus sampling leaves, from logits and a temperature."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (3, 100), "cpu": (4, 8000), "gpu": (32, 128256)}
ROWS, VOCABULARY = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, top_p):
        super().__init__()
        self.top_p = top_p

    def forward(self, logits, temperatures):
        shares = torch.softmax(logits / temperatures[:, None], dim=-1)
        ordered, tokens = shares.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        kept = ordered.masked_fill(before > self.top_p, 0.0)
        return kept / kept.sum(dim=-1, keepdim=True), tokens


def get_inputs():
    return [torch.randn(ROWS, VOCABULARY) * 3, torch.rand(ROWS) + 0.5]


def get_init_inputs():
    return [0.9]
