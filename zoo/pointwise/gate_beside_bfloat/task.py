"""An activation in bfloat16, and beside it a router's scores of the same words in float32."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, n_experts):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width).bfloat16())
        self.gate = nn.Parameter(torch.randn(n_experts, width).bfloat16() / 16)

    def forward(self, x):
        scores = nn.functional.linear(x.float(), self.gate.float())
        return nn.functional.gelu(x * self.scale), scores


def get_inputs():
    return [torch.randn(128, 256).bfloat16()]


def get_init_inputs():
    return [256, 64]
