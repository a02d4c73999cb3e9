"""A product on tensor cores from three bfloat16 parts of each number, six products of the nine."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def split(v):
    first = v.to(tl.bfloat16)
    rest = v - first.to(tl.float32)
    second = rest.to(tl.bfloat16)
    return first, second, (rest - second.to(tl.float32)).to(tl.bfloat16)


@triton.jit
def parts(a, b, c, M, N, K, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, DEEP):
        k = start + tl.arange(0, DEEP)
        inside = (i[:, None] < M) & (k[None, :] < K)
        left = tl.load(a + i[:, None] * K + k[None, :], mask=inside, other=0.0)
        inside = (k[:, None] < K) & (j[None, :] < N)
        right = tl.load(b + k[:, None] * N + j[None, :], mask=inside, other=0.0)
        a1, a2, a3 = split(left)
        b1, b2, b3 = split(right)
        small = tl.dot(a1, b3) + tl.dot(a2, b2) + tl.dot(a3, b1)
        total += small + (tl.dot(a1, b2) + tl.dot(a2, b1)) + tl.dot(a1, b1)
    inside = (i[:, None] < M) & (j[None, :] < N)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=inside)


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device)
        parts[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, c, m, n, k, BLOCK=64, DEEP=32)
        return c
