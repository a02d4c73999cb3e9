"""A product of float8 tokens and float8 weights with a scale for each row and column."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (32, 64, 64), "cpu": (128, 512, 512), "gpu": (2048, 4096, 4096)}
TOKENS, WIDTH, OUTPUTS = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.register_buffer("weight", torch.randn(outputs, width).to(torch.float8_e4m3fn))
        self.register_buffer("scale", (torch.rand(1, outputs) + 0.5) * width**-0.5)

    def forward(self, x, scale):
        product = torch._scaled_mm(x, self.weight.t(), scale, self.scale, out_dtype=torch.bfloat16)
        return torch.relu(product)


def get_inputs():
    return [torch.randn(TOKENS, WIDTH).to(torch.float8_e4m3fn), torch.rand(TOKENS, 1) + 0.5]


def get_init_inputs():
    return [WIDTH, OUTPUTS]
