"""A product of square matrices that takes long, so that few calls can be timed."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tanh(a @ b)


def get_inputs():
    return [torch.randn(2560, 2560), torch.randn(2560, 2560)]


def get_init_inputs():
    return []
