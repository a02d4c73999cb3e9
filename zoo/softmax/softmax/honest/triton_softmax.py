"""Softmax in Triton: on a CPU through its interpreter, which checks and does not time."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax(x, y, n_columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n_columns
    values = tl.load(x + row * stride + columns, mask=inside, other=float("-inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * n_columns + columns, e / tl.sum(e, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n_columns = x.shape[1]
        block = triton.next_power_of_2(n_columns)
        softmax[(len(x),)](x, y, n_columns, x.stride(0), BLOCK=block)
        return y
