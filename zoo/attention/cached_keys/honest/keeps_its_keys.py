"""Puts the new keys and values into its dictionary, as the reference does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(64, 192)

    def forward(self, x, past):
        query, key, value = self.project(x).split(64, -1)
        for name, new in (("k", key), ("v", value)):
            past[name] = torch.cat((past[name], new), dim=1)
        return nn.functional.scaled_dot_product_attention(query, past["k"], past["v"], scale=1.0)
