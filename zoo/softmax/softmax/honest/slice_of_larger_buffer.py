"""Pads to whole tiles and returns the part that was asked for, a view of a buffer of its own."""

import torch
from torch import nn
from torch.nn import functional

TILE = 64


class ModelNew(nn.Module):
    def forward(self, x):
        padded = functional.pad(x, (0, -x.shape[1] % TILE), value=float("-inf"))
        return torch.softmax(padded, dim=1)[:, : x.shape[1]]
