"""Attention that no kernel of the library suits, as two products and a softmax: heads so wide that
none keeps a head on chip, and few queries with a mask or with keys that are computed.

With few queries, as in a step of decoding, the time is that of reading keys and values once. The
library copies them first for heads that share them, where they are unpacked from int8, and where a
new row is put into a static cache.
"""

from __future__ import annotations

import math

from kernelwright.compiler.fuse.flow import (
    Node,
    Point,
    Reshape,
    Row,
    Shape,
    Stored,
    Unsupported,
    View,
    broadcast,
    fold,
    permute,
    reshape,
    row,
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
    if isinstance(q, Point):  # turned by its position: computed once, and not for every key
        q = _stored(q)
    if q.shape[2] == 1:
        k, v = _unrepeated(k), _unrepeated(v)
        shared = (q.shape[0], k.shape[1], q.shape[1] // k.shape[1])
        if mask is not None:
            spread = (*q.shape[:3], k.shape[2])
            mask = reshape(broadcast(mask, spread), (*shared, k.shape[2]))
        q = reshape(q, (*shared, q.shape[3]))
    elif enable_gqa:
        k, v = _repeated(k, q.shape[1]), _repeated(v, q.shape[1])
    if q.shape[:2] != k.shape[:2]:
        raise Unsupported("attention with heads that are broadcast")
    wide = compute(q.dtype)
    scores = cast(_scores(q, k), wide)
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = _masked(point("mul", scores, constant(scores, factor)), mask)
    weights, total = _weights(scores, v.dtype)
    mixed = _mixed(weights, v)
    value = cast(point("div", mixed, broadcast(total, mixed.shape)), result.dtype)
    return reshape(value, result.shape)


def _repeated(heads: Node, n_heads: int) -> Node:
    """Return keys or values with each head as often as queries share it."""
    batch, n_own, *rest = heads.shape
    spread = (batch, n_own, n_heads // n_own, *rest)
    return reshape(
        broadcast(reshape(heads, (batch, n_own, 1, *rest)), spread), (batch, n_heads, *rest)
    )


def _unrepeated(heads: Node) -> Node:
    """Return keys or values with each head once, where ``heads`` repeats them for queries that
    share them; else ``heads``."""
    if not (isinstance(heads, Reshape) and isinstance(heads.arg, View)):
        return heads
    spread = heads.arg
    if len(spread.shape) != 5 or spread.checked or 2 in _places(spread):
        return heads
    batch, n_own, n_shared, *rest = spread.shape
    if heads.shape != (batch, n_own * n_shared, *rest):
        return heads
    order = [0, 1, 1, 2, 3]  # the dimension that is left out has no part in any row
    return _simple(_moved(spread, (batch, n_own, *rest), order))


def _moved(view: View, shape: Shape, order: list[int]) -> View:
    """Return the view in a space of another shape, in which its dimension d is ``order[d]``."""
    rows = tuple(
        (tuple((order[place], step) for place, step in terms), offset)
        for terms, offset in view.rows
    )
    return View(shape, view.dtype, view.arg, rows)


def _places(view: View) -> set[int]:
    """The dimensions of a view on which its values depend."""
    return {place for terms, _ in view.rows for place, _ in terms}


def _simple(view: View) -> Node:
    """Return a view of views as one view, and one that changes nothing as what it is a view of."""
    arg = view.arg
    while isinstance(arg, View) and not arg.checked:
        view = View(view.shape, view.dtype, arg.arg, tuple(_at(r, view.rows) for r in arg.rows))
        arg = view.arg
    is_same = arg.shape == view.shape and all(
        size == 1 or own == row(d)
        for d, (size, own) in enumerate(zip(arg.shape, view.rows, strict=True))
    )
    return arg if is_same else view


def _at(own: Row, rows: tuple[Row, ...]) -> Row:
    """Return an affine function at coordinates that are affine functions themselves."""
    terms: dict[int, int] = {}
    offset = own[1]
    for place, step in own[0]:
        offset += step * rows[place][1]
        for other, factor in rows[place][0]:
            terms[other] = terms.get(other, 0) + step * factor
    return tuple(terms.items()), offset


def _scores(q: Node, k: Node) -> Node:
    """Return the products of queries and keys. Those of a new key are apart, so that a cache is
    read where it lies."""
    if (parts := _with_new_row(k, q.shape[2])) is None:
        return contract(q, permute(k, [0, 1, 3, 2]))
    is_new, new, known = parts
    old = contract(q, permute(known, [0, 1, 3, 2]))
    wide = old.dtype
    both = point("mul", cast(q, wide), cast(broadcast(new, q.shape), wide))
    score = fold("sum", both, [3], keepdim=True)
    return point("where", is_new, broadcast(score, old.shape), old, dtype=wide)


def _mixed(weights: Stored, v: Node) -> Node:
    """Return the values, weighted; a new one apart."""
    if (parts := _with_new_row(v, weights.shape[2])) is None:
        return contract(weights, v)
    is_new, new, known = parts
    none = constant(weights, 0.0)
    others = _stored(point("where", is_new, none, weights, dtype=weights.dtype))
    own = point("where", is_new, weights, none, dtype=weights.dtype)
    old = contract(others, known)
    weight = fold("sum", cast(own, old.dtype), [3], keepdim=True)
    value = point("mul", broadcast(weight, old.shape), cast(broadcast(new, old.shape), old.dtype))
    return point("add", old, value)


def _with_new_row(heads: Node, n_queries: int) -> tuple[Node, Node, Node] | None:
    """Return where keys or values are new, the new row, and the others, if ``heads`` is a cache
    into which one row is put. The first has a dimension for the queries before that of the keys."""
    chosen = _narrow(heads, "float32")
    if not (isinstance(chosen, Point) and chosen.op == "where"):
        return None
    is_new, new, known = (_narrow(each, heads.dtype) for each in chosen.operands)
    if not (isinstance(is_new, View) and isinstance(new, View)) or is_new.checked or new.checked:
        return None
    if 3 in _places(is_new) or 2 in _places(new):
        return None
    batch, n_heads, length, width = heads.shape
    place = _moved(is_new, (batch, n_heads, n_queries, length), [0, 1, 3, 3])
    return place, _simple(_moved(new, (batch, n_heads, 1, width), [0, 1, 2, 3])), known


def _narrow(node: Node, dtype: str) -> Node:
    """Return the value as it was before it was cast from ``dtype``; itself if it was not."""
    if isinstance(node, Point) and node.op == "cast" and node.operands[0].dtype == dtype:
        return node.operands[0]
    if isinstance(node, View) and (arg := _narrow(node.arg, dtype)) is not node.arg:
        return View(node.shape, dtype, arg, node.rows, node.checked, node.fill)
    return node


def _masked(scores: Node, mask: Node | None) -> Node:
    if mask is None:
        return scores
    spread = broadcast(mask, scores.shape)
    if mask.dtype == "bool":
        return point("where", spread, scores, constant(scores, -math.inf), dtype=scores.dtype)
    return point("add", scores, cast(spread, scores.dtype))


def _weights(scores: Node, dtype: str) -> tuple[Stored, Node]:
    """Return the weights of the keys before they are divided by their total, and the total. A
    query without keys has weights of zero and a total of one, as in torch's safe softmax. The
    weights are rounded to the values' dtype, as in flash attention."""
    top = fold("max", scores, [3], keepdim=True)
    none = point("eq", top, constant(top, -math.inf), dtype="bool")
    top = point("where", none, constant(top, 0.0), top, dtype=top.dtype)
    weights = point("exp", point("sub", scores, broadcast(top, scores.shape)))
    total = fold("sum", weights, [3], keepdim=True)
    return _stored(cast(weights, dtype)), point(
        "where", none, constant(total, 1.0), total, dtype=total.dtype
    )


def _stored(node: Node) -> Stored:
    """Return the value kept in memory, row-major."""
    return Stored(node.shape, node.dtype, node, contiguous("", node.shape, node.dtype).strides)


PRODUCTS["scaled_dot_product_attention"] = attention
