"""Chooses by scores that were not rounded to bfloat16."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, n_experts):
        super().__init__()
        self.gate = nn.Linear(width, n_experts, bias=False, dtype=torch.bfloat16)

    def forward(self, x):
        scores, chosen = (x.float() @ self.gate.weight.float().t()).topk(2, -1)
        return scores.softmax(-1).to(x.dtype), chosen
