"""Conjugates squared, moved by one complex number, and their mean: one complex number again."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, z, c):
        found = z * z + c
        return found, found.mean()


def get_inputs():
    z = torch.randn(64, 256, dtype=torch.complex64)
    return [z.conj(), torch.randn((), dtype=torch.complex64)]


def get_init_inputs():
    return []
