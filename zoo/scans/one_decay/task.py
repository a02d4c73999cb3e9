"""Sums of what came before, with a decay that is learned, one for all."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.rate = nn.Parameter(torch.tensor(0.5))
        places = torch.arange(n)
        self.register_buffer("ages", (places[:, None] - places).clamp(min=0).float(), False)

    def forward(self, x):
        return x @ torch.exp(-self.rate * self.ages).tril().mT


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return [1024]
