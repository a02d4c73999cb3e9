"""Cumulative sums as products with triangular blocks."""

import torch
from torch import nn
from torch.nn import functional

BLOCK = 50


class ModelNew(nn.Module):
    def forward(self, x):
        padded = functional.pad(x, (0, -x.shape[1] % BLOCK)).view(len(x), -1, BLOCK)
        inner = padded @ torch.ones(BLOCK, BLOCK, device=x.device).triu()
        before = torch.cumsum(inner[..., -1], dim=1) - inner[..., -1]
        return (inner + before[..., None]).view(len(x), -1)[:, : x.shape[1]]
