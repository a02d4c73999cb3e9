"""A ReLU with a slope that is learned, one for all channels."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return nn.functional.prelu(x, self.slope)


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return []
