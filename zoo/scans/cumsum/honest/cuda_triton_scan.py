"""Cumulative sums in Triton, a block of columns at a time."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scan(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    before = 0.0
    for start in range(0, n, BLOCK):
        place = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + place, mask=place < n, other=0.0)
        tl.store(y + row + place, tl.cumsum(v, 0) + before, mask=place < n)
        before += tl.sum(v, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        scan[(len(x),)](x, y, x.shape[1], BLOCK=512)
        return y
