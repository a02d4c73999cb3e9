"""The Fourier transform as products with tables of cosines and sines."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = {}

    def table(self, x):
        n = x.shape[-1]
        if (n, x.device) not in self.tables:
            steps = torch.arange(n, device=x.device, dtype=torch.float64)
            angle = -2 * math.pi / n * ((steps[:, None] * steps[: n // 2 + 1]) % n)
            self.tables[n, x.device] = torch.cos(angle).float(), torch.sin(angle).float()
        return self.tables[n, x.device]

    def forward(self, x):
        cosine, sine = self.table(x)
        return torch.complex(x @ cosine, x @ sine)
