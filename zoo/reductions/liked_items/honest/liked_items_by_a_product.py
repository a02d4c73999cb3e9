"""The sum of what is liked as a product with zeros and ones."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, items, ratings):
        liked = (ratings >= 3.5).float()
        total = torch.bmm(liked[:, None], items)[:, 0]
        return self.linear(total / liked.sum(1, keepdim=True).clamp(min=1))
