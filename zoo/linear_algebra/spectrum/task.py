"""The spectra of real rows: complex numbers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x)


def get_inputs():
    return [torch.randn(128, 256)]


def get_init_inputs():
    return []
