"""The same moments from sums, divided once."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        n, total = x.shape[-1], x.sum(-1)
        variance = (torch.einsum("abc,abc->ab", x, x) - total * total / n) / n
        return variance.argmin(-1), variance < 1.0
