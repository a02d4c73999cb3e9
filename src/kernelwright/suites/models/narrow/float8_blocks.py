"""A product of float8 tokens and float8 weights with scales of blocks, as in DeepSeek V3."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 64, 64, 32), "cpu": (128, 512, 512, 128), "gpu": (2048, 4096, 4096, 128)}
TOKENS, WIDTH, OUTPUTS, BLOCK = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, outputs, block):
        super().__init__()
        self.block = block
        weight = torch.randn(outputs, width).to(torch.float8_e4m3fn)
        self.register_buffer("weight", weight)
        scale = (torch.rand(outputs // block, width // block) + 0.5) * width**-0.5
        self.register_buffer("scale", scale)

    def forward(self, x, x_scale):
        rows, columns = (t.repeat_interleave(self.block, dim=-1) for t in (x_scale, self.scale))
        columns = columns.repeat_interleave(self.block, dim=0)
        x = (x.float() * rows).to(torch.bfloat16)
        return F.linear(x, (self.weight.float() * columns).to(torch.bfloat16))


def get_inputs():
    x = torch.randn(TOKENS, WIDTH).to(torch.float8_e4m3fn)
    return [x, torch.rand(TOKENS, WIDTH // BLOCK) + 0.5]


def get_init_inputs():
    return [WIDTH, OUTPUTS, BLOCK]
