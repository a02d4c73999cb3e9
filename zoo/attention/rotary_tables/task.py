"""Tables of rotary positions as transformers makes them: what is computed in float32 says so."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, base=10000.0):
        super().__init__()
        powers = torch.arange(0, width, 2, dtype=torch.int64).float() / width
        self.register_buffer("inv_freq", 1.0 / (base**powers), persistent=False)

    def forward(self, x, positions):
        rates = self.inv_freq[None, :, None].float().expand(positions.shape[0], -1, 1)
        angles = (rates.float() @ positions[:, None, :].float()).transpose(1, 2)
        angles = torch.cat((angles, angles), -1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def get_inputs():
    return [torch.randn(2, 4), torch.randint(0, 2000, (2, 1)) + torch.arange(512)[None]]


def get_init_inputs():
    return [64]
