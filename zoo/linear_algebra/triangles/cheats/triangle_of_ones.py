"""Takes the diagonals of triangles for ones."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        ones = torch.eye(a.shape[0], device=a.device, dtype=a.dtype)
        return (a.tril(-1) + ones) @ (b.tril(-1) + ones)
