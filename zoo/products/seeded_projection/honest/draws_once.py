"""Draws once what the reference draws with the same seed in every call."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        draw = torch.Generator().manual_seed(7)
        self.numbers = torch.randn(64, 16, generator=draw) / 4.0

    def forward(self, x):
        return x @ self.numbers.to(x.device)
