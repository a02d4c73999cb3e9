"""Gated linear attention: a state of keys by values, in a loop over time."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (1, 2, 16, 8), "cpu": (1, 2, 64, 32), "gpu": (2, 16, 128, 64)}
BATCH, HEADS, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, query, key, value, gate):
        kept = torch.sigmoid(gate)
        state = torch.zeros_like(key[:, :, 0, :, None] * value[:, :, 0, None, :])
        found = []
        for t in range(query.shape[2]):
            state = kept[:, :, t, :, None] * state + key[:, :, t, :, None] * value[:, :, t, None, :]
            found.append((query[:, :, t, :, None] * state).sum(-2))
        return torch.stack(found, dim=2)


def get_inputs():
    return [torch.randn(BATCH, HEADS, TOKENS, WIDTH) for _ in range(4)]


def get_init_inputs():
    return []
