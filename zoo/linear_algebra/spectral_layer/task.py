"""A layer with complex weights for the lowest waves, and one with weights of 8 bits."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_channels, n_waves):
        super().__init__()
        self.n_waves = n_waves
        shape = (n_channels, n_channels, n_waves)
        self.weight = nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / n_channels)
        whole = torch.randint(-127, 128, (n_channels, n_channels), dtype=torch.int8)
        self.register_buffer("quantised", whole)
        self.scale = nn.Parameter(0.01 * torch.rand(n_channels))

    def forward(self, x):
        waves = torch.fft.rfft(x)
        mixed = torch.einsum("bim,iom->bom", waves[..., : self.n_waves], self.weight)
        straight = (self.quantised * self.scale[:, None]) @ x
        return torch.fft.irfft(mixed, n=x.shape[-1]) + straight


def get_inputs():
    return [torch.randn(8, 16, 256)]


def get_init_inputs():
    return [16, 32]
