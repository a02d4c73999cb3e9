"""Rows of one size in the product, and their own afterwards."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256, bias=False).bfloat16()

    def forward(self, x):
        sizes = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-30).log2().floor().exp2()
        rows = (x.float() / sizes).bfloat16()
        return (self.linear(rows).float() * sizes).bfloat16()
