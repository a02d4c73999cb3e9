"""Layer norm in Triton, one row per program, two passes in registers."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def norm(x, weight, bias, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    values = tl.load(x + row * n + columns, mask=inside, other=0.0)
    centred = tl.where(inside, values - tl.sum(values, axis=0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    w = tl.load(weight + columns, mask=inside)
    b = tl.load(bias + columns, mask=inside)
    tl.store(y + row * n + columns, centred * scale * w + b, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = x.contiguous()
        y, n = torch.empty_like(x), x.shape[-1]
        parameters = (self.norm.weight, self.norm.bias)
        norm[(len(x),)](x, *parameters, y, n, self.norm.eps, BLOCK=triton.next_power_of_2(n))
        return y
