"""Rows with their learned places added, and the places themselves."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(512, 256))

    def forward(self, x):
        places = self.places[: x.shape[1]]
        return x + places, places


def get_inputs():
    return [torch.randn(16, 128, 256)]


def get_init_inputs():
    return []
