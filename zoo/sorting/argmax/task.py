"""The place of each row's largest number: integers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(200, 700)]


def get_init_inputs():
    return []
