"""Attention over a cache that new keys are written to, each at a slot of its own."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, q, k, slots):
        cache = torch.zeros_like(k).index_copy_(0, slots, k)
        return torch.softmax(q @ cache.mT * q.shape[-1] ** -0.5, -1), cache


def get_inputs():
    return [torch.randn(16, 64), torch.randn(128, 64), torch.arange(128)]


def get_init_inputs():
    return []
