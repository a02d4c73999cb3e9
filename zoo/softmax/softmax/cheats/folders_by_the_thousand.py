"""Right itself, it leaves folders nested by the thousand, and a closed one, in its scratch."""

import os
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        os.chmod(tempfile.mkdtemp(), 0)
        place = os.open(tempfile.mkdtemp(), os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=place)
            inner = os.open("d", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = inner
        os.close(place)

    def forward(self, x):
        return torch.softmax(x, dim=1)
