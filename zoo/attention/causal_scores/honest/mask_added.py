"""A causal mask that is added, infinities and all."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k):
        n = q.shape[-2]
        mask = torch.full((n, n), float("-inf"), device=q.device).triu(1)
        return torch.baddbmm(mask, q, k.mT)
