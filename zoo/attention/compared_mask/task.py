"""Attention weights where a mask of zeros and ones is compared with one."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, mask):
        return x.masked_fill(mask != 1, -1e9).softmax(-1)


def get_inputs():
    return [torch.randn(64, 128, 64), torch.randint(0, 2, (64, 1, 64)).float()]


def get_init_inputs():
    return []
