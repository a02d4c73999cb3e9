"""Which of many words have one of two bits: booleans."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, flags):
        return (flags & 6).bool()


def get_inputs():
    return [torch.randint(0, 256, (2048, 4096), dtype=torch.uint8)]


def get_init_inputs():
    return []
