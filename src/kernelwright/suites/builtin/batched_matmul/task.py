"""A batch of small matrix products and a scale."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (8, 32, 48, 40), "cpu": (128, 128, 96, 160), "gpu": (256, 512, 384, 640)}
BATCH, ROWS, INNER, COLUMNS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.scale = inner**-0.5

    def forward(self, a, b):
        return torch.bmm(a, b) * self.scale


def get_inputs():
    return [torch.randn(BATCH, ROWS, INNER), torch.randn(BATCH, INNER, COLUMNS)]


def get_init_inputs():
    return [INNER]
