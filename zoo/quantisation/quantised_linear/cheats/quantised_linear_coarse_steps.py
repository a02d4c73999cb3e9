"""Takes the first rows' steps from a half of each row."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.register_buffer("weight", torch.zeros(n_out, n_in, dtype=torch.int8))
        self.scale = nn.Parameter(torch.empty(n_out))

    def forward(self, x):
        x = self.norm(x)
        largest = x.abs().amax(-1, keepdim=True)
        largest[:4] = x[:4, ::2].abs().amax(-1, keepdim=True)
        step = largest.clamp(min=1e-3) / 127
        whole = torch.clamp(torch.round(x / step), -127, 127)
        return (whole @ self.weight.float().T) * step * self.scale
