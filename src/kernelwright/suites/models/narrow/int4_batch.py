"""A product with packed int4 weights, in groups with scales and zeros, on 16 tokens."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 64, 48, 16), "cpu": (16, 512, 512, 64), "gpu": (16, 4096, 4096, 128)}
TOKENS, WIDTH, OUTPUTS, GROUP = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, outputs, group):
        super().__init__()
        packed = torch.randint(0, 256, (outputs, width // 2), dtype=torch.uint8)
        self.register_buffer("packed", packed)
        groups = (outputs, width // group, 1)
        scales = (torch.rand(groups) + 0.5) * width**-0.5 / 4
        self.register_buffer("scales", scales.to(torch.bfloat16))
        self.register_buffer("zeros", torch.randint(4, 12, groups).to(torch.bfloat16))

    def forward(self, x):
        halves = torch.stack((self.packed & 15, self.packed >> 4), dim=-1)
        grouped = halves.view(self.scales.shape[0], self.scales.shape[1], -1).to(x.dtype)
        weight = ((grouped - self.zeros) * self.scales).flatten(1)
        return F.linear(x, weight)


def get_inputs():
    return [torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WIDTH, OUTPUTS, GROUP]
