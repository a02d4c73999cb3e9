"""Attention within stretches of rows, beside how long the longest is."""

from itertools import pairwise

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, q, k, v, ends, longest: int):
        found = torch.empty_like(q)
        for a, b in pairwise(ends.tolist()):
            scores = torch.einsum("qhd,khd->hqk", q[a:b], k[a:b]) * q.shape[-1] ** -0.5
            found[a:b] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v[a:b])
        return found


def get_inputs():
    ends = torch.arange(0, 513, 128, dtype=torch.int32)
    return [*(torch.randn(512, 4, 16) for _ in range(3)), ends, 128]


def get_init_inputs():
    return []
