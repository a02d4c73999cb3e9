"""Weights of energies, beside the times that they stand for."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, energies):
        return energies.softmax(-1), energies.clamp(min=0).reciprocal()


def get_inputs():
    return [torch.rand(512, 1024) + 0.05]


def get_init_inputs():
    return []
