"""Gives a part of its own weights, as the reference does: other weights are loaded into them."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(512, 256))

    def forward(self, x):
        places = self.places.narrow(0, 0, x.shape[1])
        return torch.add(x, places), places
