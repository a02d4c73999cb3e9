"""Gives each result a piece of shared memory of its own, for another process to read."""

import mmap

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(1024, 256))

    def forward(self, x):
        shape = (2, *self.places.shape)
        n_bytes = 2 * self.places.numel() * self.places.element_size()
        table = torch.frombuffer(mmap.mmap(-1, n_bytes), dtype=torch.float32).view(shape)
        return x + self.places, table.copy_(self.places)
