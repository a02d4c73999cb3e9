"""A linear layer and a GELU."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (64, 96, 128), "cpu": (512, 512, 1024), "gpu": (4096, 2048, 4096)}
ROWS, INPUTS, OUTPUTS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        nn.init.normal_(self.linear.bias)

    def forward(self, x):
        return F.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(ROWS, INPUTS)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
