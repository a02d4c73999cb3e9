"""Attention that no kernel of the library suits, as two products and a softmax: heads so wide that
none keeps a head on chip, and few queries with a mask or with keys that are computed.

With few queries, as in a step of decoding, the time is that of reading keys and values once. The
library copies them first for heads that share them, and where they are unpacked from int8.
"""

from __future__ import annotations

import math

from kernelwright.compiler.fuse.flow import (
    Node,
    Point,
    Stored,
    Unsupported,
    broadcast,
    fold,
    permute,
    reshape,
)
from kernelwright.compiler.ir.ir import contiguous
from kernelwright.compiler.lower.products import PRODUCTS, THIN, contract
from kernelwright.compiler.lower.reductions import compute
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
    """Lower attention over four dimensions, without dropout and a causal mask."""
    if dropout or causal or len(q.shape) != 4:
        raise Unsupported("attention with dropout, a causal mask or other dimensions")
    is_plain = mask is None and not enable_gqa
    if q.shape[2] > THIN and not (is_plain and q.shape[-1] > WIDE):
        raise Unsupported("attention that a fused kernel does")
    if enable_gqa:
        k, v = _repeated(k, q.shape[1]), _repeated(v, q.shape[1])
    if q.shape[:2] != k.shape[:2]:
        raise Unsupported("attention with heads that are broadcast")
    if isinstance(q, Point):  # turned by its position: computed once, and not for every key
        q = _stored(q)
    wide = compute(q.dtype)
    scores = cast(contract(q, permute(k, [0, 1, 3, 2])), wide)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = _masked(point("mul", scores, constant(scores, factor)), mask)
    weights, total = _weights(scores)
    return cast(point("div", contract(weights, v), broadcast(total, result.shape)), result.dtype)


def _repeated(heads: Node, n_heads: int) -> Node:
    """Return keys or values with each head as often as queries share it."""
    batch, n_own, *rest = heads.shape
    spread = (batch, n_own, n_heads // n_own, *rest)
    return reshape(
        broadcast(reshape(heads, (batch, n_own, 1, *rest)), spread), (batch, n_heads, *rest)
    )


def _masked(scores: Node, mask: Node | None) -> Node:
    if mask is None:
        return scores
    spread = broadcast(mask, scores.shape)
    if mask.dtype == "bool":
        return point("where", spread, scores, constant(scores, -math.inf), dtype=scores.dtype)
    return point("add", scores, cast(spread, scores.dtype))


def _weights(scores: Node) -> tuple[Node, Node]:
    """Return the weights of the keys before they are divided by their total, and the total. A
    query without keys has weights of zero and a total of one, as in torch's safe softmax."""
    top = fold("max", scores, [3], keepdim=True)
    none = point("eq", top, constant(top, -math.inf), dtype="bool")
    top = point("where", none, constant(top, 0.0), top, dtype=top.dtype)
    weights = point("exp", point("sub", scores, broadcast(top, scores.shape)))
    total = fold("sum", weights, [3], keepdim=True)
    return _stored(weights), point("where", none, constant(total, 1.0), total, dtype=total.dtype)


def _stored(node: Node) -> Stored:
    return Stored(node.shape, node.dtype, node, contiguous("", node.shape, node.dtype).strides)


PRODUCTS["scaled_dot_product_attention"] = attention
