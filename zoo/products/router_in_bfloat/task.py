"""The two experts that a router in bfloat16 chooses, and their weights."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, n_experts):
        super().__init__()
        self.gate = nn.Linear(width, n_experts, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        shares = self.gate(x).softmax(-1, dtype=torch.float32)
        weights, chosen = shares.topk(2, -1)
        return (weights / weights.sum(-1, keepdim=True)).to(x.dtype), chosen


def get_inputs():
    return [torch.randn(512, 128, dtype=torch.bfloat16)]


def get_init_inputs():
    return [128, 16]
