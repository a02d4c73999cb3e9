"""Conditions of rules. Each inspects a match and returns the names that the replacement needs
besides the pattern's own, or None if the rule does not hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.lower.graph import name_of, viewed
from kernelwright.compiler.rewrite.pattern import Bindings
from kernelwright.compiler.rewrite.terms import rank_of, real_value, shape_of, term_of

ASSUMES = "assumes"
"""Key under which a condition returns a node whose value it has inspected."""
WIDEST_CAPPED = 256
"""Largest head whose attention is one kernel of our own."""
Condition = Callable[[Bindings], dict[str, Any] | None]
WIDEST_RANGE = 60.0
"""Distance from the upper end of a range up to which exponentials, and sums of many of them, are
far from float32's least normal number: e to the minus 60th is 9e-27."""
_SHAPES = ("view", "reshape", "_unsafe_view", "flatten")
_NON_NEGATIVE = ("relu", "sigmoid", "softmax", "exp", "abs", "square", "hardsigmoid")


def always(found: Bindings) -> dict[str, Any] | None:
    return {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_float(node: Any) -> bool:
    return isinstance(node, fx.Node) and node.meta["val"].is_floating_point()


def attention(found: Bindings) -> dict[str, Any] | None:
    """The match has four dimensions, equal batches and heads, a number as scale, and a mask that
    broadcasts."""
    q, k, v = found["q"], found["k"], found["v"]
    if not all(_is_float(x) and rank_of(x) == 4 for x in (q, k, v)):
        return None
    if len({shape_of(x)[:2] for x in (q, k, v)}) != 1 or shape_of(k)[2] != shape_of(v)[2]:
        return None
    factor = found.get("s", 1.0)
    if "d" in found:
        factor = 1.0 / found["d"] if _is_number(found["d"]) and found["d"] else None
    if not _is_number(factor):
        return None
    mask = found.get("mask")
    if mask is not None and not (isinstance(mask, fx.Node) and rank_of(mask) <= 4):
        return None
    if "infinite" in found and found["infinite"] != -math.inf:
        return None
    if found.get("dtype", v.meta["val"].dtype) != q.meta["val"].dtype:
        return None
    if mask is not None and "infinite" not in found and not _is_float(mask):
        return None
    return {"scale": float(factor)}  # type: ignore[arg-type]


def capped_attention(found: Bindings) -> dict[str, Any] | None:
    """Like ``attention``, in 16 bits with alike heads; what is in the tanh is multiplied by a
    number, or divided by one, and so is the tanh itself multiplied."""
    extra, cap = attention(found), found["cap"]
    if extra is None or not _is_number(cap) or cap <= 0:
        return None
    is_divided = _is_number(found.get("c")) and found["c"] != 0
    factor = found.get("r") or (1.0 / found["c"] if is_divided else None)
    q, k, v = (found[name].meta["val"] for name in "qkv")
    is_narrow = {x.dtype for x in (q, k, v)} in ({torch.bfloat16}, {torch.float16})
    if not _is_number(factor) or not is_narrow or k.shape != v.shape:
        return None
    is_fit = q.shape[-1] <= WIDEST_CAPPED
    return {"scale": extra["scale"] * factor * cap, "cap": float(cap)} if is_fit else None


def attention_of_three(found: Bindings) -> dict[str, Any] | None:
    """The match has three dimensions with equal first ones; any scale of the scores is in q."""
    q, k, v = found["q"], found["k"], found["v"]
    if not all(_is_float(x) and rank_of(x) == 3 for x in (q, k, v)):
        return None
    alike = len({shape_of(x)[0] for x in (q, k, v)}) == 1 and shape_of(k)[1] == shape_of(v)[1]
    return {"scale": 1.0} if alike else None


def causal_attention(found: Bindings) -> dict[str, Any] | None:
    """Like ``attention``, and the mask is a buffer that is true exactly above the diagonal."""
    extra = attention(found)
    mask = found["mask"]
    size = shape_of(found["q"])[2]
    if extra is None or shape_of(found["k"])[2] != size or shape_of(mask)[-2:] != (size, size):
        return None
    value = real_value(mask)
    if value is None or value.dtype != torch.bool or value.numel() != size * size:
        return None
    is_causal = torch.equal(value, torch.ones_like(value).triu(1))
    return {**extra, ASSUMES: mask} if is_causal else None


def computed(found: Bindings) -> dict[str, Any] | None:
    """x is computed in the graph, and the caller does not get both it and the match."""
    x, node = found["x"], found[""][0]
    if x.op != "call_function":
        return None
    is_new = [*viewed([x])] == [x] and len(x.users) == 1
    return {} if is_new or not _is_returned(node) else None


def _is_returned(node: fx.Node) -> bool:
    """Whether the caller, or a buffer, gets the node or a view of it."""
    return any(
        user.op == "output" or (node in viewed([user]) and _is_returned(user))
        for user in node.users
    )


def number(found: Bindings) -> dict[str, Any] | None:
    """c is a finite number other than zero."""
    return {} if _is_number(found["c"]) and found["c"] else None


def product_of_numbers(found: Bindings) -> dict[str, Any] | None:
    """c and e are numbers, and so is their product, far from overflow and underflow of float32."""
    if not (_is_number(found["c"]) and _is_number(found["e"])) or not _is_float(found["x"]):
        return None
    product = found["c"] * found["e"]
    return {"ce": product} if 1e-30 < abs(product) < 1e30 else None


def number_of_linear(found: Bindings) -> dict[str, Any] | None:
    """c is a number, and x is a linear map that can take the sum into its weights."""
    term = term_of(found["x"])
    return number(found) if term is not None and term.op in ("linear", "matmul") else None


def last_dim(found: Bindings) -> dict[str, Any] | None:
    """Only the last dimension, of more than one element, is reduced; ``w`` is a plain matrix."""
    if tuple(found["dims"]) != (-1,) or rank_of(found["w"]) != 2:
        return None
    return {"shape": _reduced_shape(found)}


def shifted_last_dim(found: Bindings) -> dict[str, Any] | None:
    """Only the last dimension is reduced, and a vector along it is added to every row."""
    vector, x = found["p"], found["x"]
    if tuple(found["dims"]) != (-1,) or not isinstance(vector, fx.Node) or rank_of(vector) != 1:
        return None
    term = term_of(x)
    is_linear = term is not None and term.op == "linear" and rank_of(term.args[1]) == 2
    return {} if is_linear and shape_of(vector)[-1] == shape_of(x)[-1] else None


def last_dim_of_product(found: Bindings) -> dict[str, Any] | None:
    is_last = tuple(found["dims"]) == (-1,) and rank_of(found["b"]) >= 2 <= rank_of(found["a"])
    return {"shape": _reduced_shape(found)} if is_last else None


def rows_of_product(found: Bindings) -> dict[str, Any] | None:
    is_row = tuple(found["dims"]) == (-2,) and rank_of(found["b"]) >= 2 <= rank_of(found["a"])
    return {"shape": _reduced_shape(found)} if is_row else None


def _reduced_shape(found: Bindings) -> list[int]:
    """Return the shape of the whole match, to which the replacement is reshaped."""
    return list(shape_of(found[""][0]))


def never_negative(found: Bindings) -> dict[str, Any] | None:
    """x is the result of an operator whose values are never below zero, and the caller does not get
    both it and the match."""
    term = term_of(found["x"]) if isinstance(found["x"], fx.Node) else None
    if term is None:
        return None
    if term.op == "clamp":
        low, high = term.args[1:]  # the upper one wins where they cross
        is_one = low is not None and low >= 0 and (high is None or high >= 0)
    else:
        is_one = term.op in _NON_NEGATIVE
    return computed(found) if is_one else None


def limited(found: Bindings) -> dict[str, Any] | None:
    """x is clamped to a range in which e to the distance from the upper end keeps all its bits, or
    is such values in another shape."""
    value, dtype = found["x"], found[""][0].meta["val"].dtype
    while isinstance(value, fx.Node) and value.op == "call_function" and name_of(value) in _SHAPES:
        value = value.args[0]
    term = term_of(value) if isinstance(value, fx.Node) else None
    if term is None or term.op != "clamp" or dtype != torch.float32:
        return None
    if None in term.args[1:]:
        return None
    low, high = torch.tensor(term.args[1:], dtype=torch.float32).tolist()  # as torch rounds them
    is_narrow = 0 <= high - low <= WIDEST_RANGE
    return {"top": high, "dims": [found["dim"]]} if is_narrow else None


def nested_limits(found: Bindings) -> dict[str, Any] | None:
    """Both ranges are given, and their intersection is not empty."""
    a, b, c, d = (found[name] for name in ("low", "high", "low2", "high2"))
    if any(limit is None for limit in (a, b, c, d)):
        return None
    low, high = max(a, c), min(b, d)
    return {"lowest": low, "highest": high} if low <= high else None


def empty_range(found: Bindings) -> dict[str, Any] | None:
    """All values are at most c and are raised to at least ``low``, so that the result is
    constant."""
    low, c, high = found["low"], found["c"], found["high"]
    if not _is_number(low) or not _is_number(c) or c > low or (high is not None and high < low):
        return None
    return {}


def single_element(found: Bindings) -> dict[str, Any] | None:
    """The reduction runs over dimensions of one element, which are kept."""
    shape = shape_of(found["x"])
    return {} if found["keep"] and all(shape[d] == 1 for d in found["dims"]) else None


def pooled_features(found: Bindings) -> dict[str, Any] | None:
    """Windows of the features are side by side and inside: means of groups of rows of the
    weight."""
    (size,), (far,) = found["size"], found["far"]
    weight = found["w"]
    if found["d1"] % 3 != 1 or size != far or rank_of(weight) != 2 or rank_of(found["x"]) != 2:
        return None
    features, inputs = shape_of(weight)
    if features % size:
        return None
    groups = features // size
    return {"grouped": [groups, size, inputs], "groups": [groups, size]}


def plain_weight(found: Bindings) -> dict[str, Any] | None:
    """w is a parameter as it is, with more than one channel to combine."""
    weight = found["w"]
    if weight.op != "placeholder" or min(shape_of(weight)[:2]) == 1:
        return None
    return {"layout": {4: torch.channels_last, 5: torch.channels_last_3d}[rank_of(weight)]}


def cheaper_as_one(found: Bindings) -> dict[str, Any] | None:
    """The first of two consecutive linear maps widens, so that the product of both is smaller."""
    (hidden, inputs), (outputs, _) = shape_of(found["w"]), shape_of(found["w2"])
    is_smaller = inputs * outputs < (inputs * hidden + hidden * outputs) // 2
    return {} if is_smaller and found["b"] is not None and found["b2"] is not None else None
