"""Builds tables on its first call, and again for each new shape."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.masks = {}

    def mask(self, n, device):
        if (n, device) not in self.masks:
            self.masks[n, device] = torch.full((n, n), float("-inf"), device=device).triu(1)
        return self.masks[n, device]

    def forward(self, q, k, v):
        n, d = q.shape[-2:]
        scores = torch.matmul(q / math.sqrt(d), k.mT) + self.mask(n, q.device)
        return torch.softmax(scores, dim=-1) @ v
