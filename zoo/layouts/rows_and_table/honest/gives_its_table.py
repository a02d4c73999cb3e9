"""Gives its own table in every call, as the reference does."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("places", torch.zeros(64, 512))

    def forward(self, x):
        return torch.add(self.places, x), self.places
