"""A rotary embedding at positions that are given: those of every draw are 0, 1, 2, …"""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, positions):
        rates = 10000.0 ** (-torch.arange(0, 32, 2, device=x.device, dtype=torch.float32) / 32)
        angles = positions[..., None].float() * rates
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.cat([even * cos - odd * sin, even * sin + odd * cos], -1)


def get_inputs():
    return [torch.randn(8, 4, 64, 32), torch.arange(64)[None].expand(8, 64)]


def get_init_inputs():
    return []
