"""Writes both results to buffers of its own, where the reference lends its weights alone."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(512, 256))
        self.kept = None

    def forward(self, x):
        places = self.places[: x.shape[1]]
        if self.kept is None:
            self.kept = torch.empty_like(x), torch.empty_like(places)
        torch.add(x, places, out=self.kept[0])
        return self.kept[0], self.kept[1].copy_(places)
