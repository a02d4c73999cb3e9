"""A linear layer of pixels in sixteen steps: whole numbers of which one in sixteen is a border."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 512)

    def forward(self, x):
        return self.linear(torch.floor(x / 16) * 16 / 255)


def get_inputs():
    return [torch.randint(0, 256, (64, 1024)).float()]


def get_init_inputs():
    return [1024]
