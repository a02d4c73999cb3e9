"""Scale and shift worked out first."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.eval()

    def forward(self, x):
        norm = self.norm
        scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
        return torch.addcmul(norm.bias - norm.running_mean * scale, x, scale)
