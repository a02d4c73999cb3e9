"""A product with int8 weights, a scale for each output, on 32 tokens."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 64, 48), "cpu": (32, 512, 512), "gpu": (32, 4096, 4096)}
TOKENS, WIDTH, OUTPUTS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        weight = torch.randint(-127, 128, (outputs, width), dtype=torch.int8)
        self.register_buffer("weight", weight)
        scale = (torch.rand(outputs) + 0.5) * width**-0.5 / 64
        self.register_buffer("scale", scale.to(torch.bfloat16))

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype)) * self.scale


def get_inputs():
    return [torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WIDTH, OUTPUTS]
