"""Applies the causal mask to the first half of the queries only."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        future[q.shape[-2] // 2 :] = False
        return torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ v
