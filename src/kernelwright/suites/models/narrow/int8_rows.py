"""A product of int8 rows, scaled by their largest number, with int8 weights."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 64, 48), "cpu": (128, 512, 512), "gpu": (2048, 4096, 4096)}
TOKENS, WIDTH, OUTPUTS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        weight = torch.randint(-127, 128, (outputs, width), dtype=torch.int8)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", (torch.rand(outputs) + 0.5) * width**-0.5 / 64)

    def forward(self, x):
        wide = x.float()
        step = wide.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 127
        rows = torch.round(wide / step).clamp(-127, 127).to(torch.int8)
        found = F.linear(rows.to(x.dtype), self.weight.to(x.dtype)).float()
        return (found * step * self.scale).to(x.dtype)


def get_inputs():
    return [torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WIDTH, OUTPUTS]
