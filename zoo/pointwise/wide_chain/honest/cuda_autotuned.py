"""A Triton kernel that tunes itself on its first call."""

import torch
import triton
import triton.language as tl
from torch import nn

CONFIGS = [triton.Config({"BLOCK": size}, num_warps=4) for size in (512, 1024, 2048)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def chain(x, y, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + place, mask=place < n, other=0.0)
    bell, share = tl.exp(-v * v), 1 / (1 + tl.exp(-v))
    half = tl.exp(-2 * tl.abs(v))
    tanh = (1 - half) / (1 + half)
    small = v * (1 - v * v * (1.0 / 3 - v * v * (2.0 / 15)))
    tanh = tl.where(tl.abs(v) < 0.01, small, tl.where(v < 0, -tanh, tanh))
    tl.store(y + place, tanh * share + bell, mask=place < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y, n = torch.empty_like(x), x.numel()
        chain[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        return y
