"""The probabilities of the tokens that are at least a share as likely as the likeliest one."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (3, 100), "cpu": (4, 8000), "gpu": (32, 128256)}
ROWS, VOCABULARY = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, min_p):
        super().__init__()
        self.min_p = min_p

    def forward(self, logits, temperatures):
        shares = torch.softmax(logits.float() / temperatures[:, None], dim=-1)
        least = self.min_p * shares.amax(dim=-1, keepdim=True)
        kept = torch.where(shares >= least, shares, 0.0)
        return kept / kept.sum(dim=-1, keepdim=True)


def get_inputs():
    logits = torch.randn(ROWS, VOCABULARY, dtype=torch.bfloat16) * 3
    return [logits, torch.rand(ROWS) + 0.5]


def get_init_inputs():
    return [0.05]
