"""Fills the disk.

task: softmax
expect: runtime_error|tampered|rejected|timeout
devices: cpu|cuda
catalogue: E3
note: stops at eight gigabytes, should nobody stop it
"""

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
