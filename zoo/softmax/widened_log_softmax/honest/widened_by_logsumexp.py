"""Logits rounded to bfloat16 less the logarithm of their sum."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        logits = (x.float() @ self.linear.weight.float().t()).bfloat16().float()
        return logits - torch.logsumexp(logits, -1, keepdim=True)
