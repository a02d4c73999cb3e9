"""Attention with heads so wide that no kernel keeps a head on chip: two products and a softmax."""

from __future__ import annotations

import math

from kernelwright.compiler.fuse.flow import Node, Unsupported, permute
from kernelwright.compiler.lower.products import PRODUCTS, contract
from kernelwright.compiler.lower.reductions import compute, softmax
from kernelwright.compiler.lower.table import Result, cast, constant, point

WIDE = 256
"""Head width up to which libraries have fused kernels: flash attention's limit (its README)."""


def attention(
    result: Result,
    q: Node,
    k: Node,
    v: Node,
    mask: Node | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Node:
    """Lower attention without a mask, over four dimensions."""
    width = q.shape[-1]
    plain = mask is None and not dropout and not causal and not enable_gqa
    if not plain or len(q.shape) != 4 or width <= WIDE or q.shape[:2] != k.shape[:2]:
        raise Unsupported("attention that a fused kernel does")
    wide = compute(q.dtype)
    scores = contract(cast(q, wide), permute(cast(k, wide), [0, 1, 3, 2]))
    factor = 1.0 / math.sqrt(width) if scale is None else scale
    scores = point("mul", scores, constant(scores, factor))
    weights = softmax(Result(scores.shape, wide, "softmax"), scores, -1)
    return cast(contract(weights, cast(v, wide)), result.dtype)


PRODUCTS["scaled_dot_product_attention"] = attention
