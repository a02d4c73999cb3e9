"""Squares real and imaginary parts by themselves."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, c):
        real = z.real.square() - z.imag.square() + c.real
        imag = 2 * z.real * z.imag + c.imag
        found = torch.complex(real, imag)
        return found, torch.complex(real.mean(), imag.mean())
