"""What a place is, added to each element; the places are one row for all."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(64, 32)

    def forward(self, x, ids):
        return x + self.places(ids)


def get_inputs():
    return [torch.randn(64, 48, 32), torch.arange(48).expand(64, 48)]


def get_init_inputs():
    return []
