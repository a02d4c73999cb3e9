"""Normalises and rounds in another order: a number on a border moves all of its row's products."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.register_buffer("weight", torch.zeros(n_out, n_in, dtype=torch.int8))
        self.scale = nn.Parameter(torch.empty(n_out))

    def forward(self, x):
        deviation = x - x.mean(-1, keepdim=True)
        variance = deviation.square().mean(-1, keepdim=True)
        x = deviation * torch.rsqrt(variance + 1e-5) * self.norm.weight + self.norm.bias
        largest = x.abs().amax(-1, keepdim=True).clamp(min=1e-3)
        whole = torch.round(x * (127.0 / largest)).clamp_(-127, 127)
        return (whole @ self.weight.float().T) * (largest / 127.0) * self.scale
