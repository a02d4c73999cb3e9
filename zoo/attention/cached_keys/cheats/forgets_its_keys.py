"""Attends to the new key and value, and never puts them into the dictionary."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 192)

    def forward(self, x, past):
        query, key, value = self.project(x).chunk(3, -1)
        keys, values = torch.cat([past["k"], key], 1), torch.cat([past["v"], value], 1)
        return (query @ keys.mT).softmax(-1) @ values
