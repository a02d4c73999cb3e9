"""Conditions of rules about convolutions, and the numbers that their replacements need."""

from __future__ import annotations

import math
from typing import Any

from torch import fx

from kernelwright.compiler.rewrite.conditions import plain_weight
from kernelwright.compiler.rewrite.pattern import Bindings
from kernelwright.compiler.rewrite.terms import rank_of, shape_of

WIDE_STEP = 3
FEW_CHANNELS = 4
"""Number of channels up to which a convolution leaves most of a tensor core's tile empty."""


def has_bias(found: Bindings) -> dict[str, Any] | None:
    """b is a node; ``place`` is the shape with which it broadcasts over the result."""
    spatial = rank_of(found["w"]) - 2
    return {"place": [-1, *[1] * spatial]} if isinstance(found["b"], fx.Node) else None


def stride_of_one(found: Bindings) -> dict[str, Any] | None:
    """The transposed convolution reads every position and has one group."""
    kernel = shape_of(found["w"])[2:]
    pads = [
        d * (k - 1) - p for k, d, p in zip(kernel, found["dilation"], found["padding"], strict=True)
    ]
    is_one = all(s == 1 for s in found["stride"]) and not any(found["extra"])
    return {"pads": pads} if is_one and found["groups"] == 1 and min(pads) >= 0 else None


def _ranges(found: Bindings, conv: fx.Node, d: int) -> list[tuple[int, int]]:
    """Return, per tap of dimension ``d``, the range of positions of x that reach a result through
    it."""
    size, out = shape_of(found["x"])[2 + d], shape_of(conv)[2 + d]
    s, p, gap = found["stride"][d], found["padding"][d], found["dilation"][d]
    ranges = []
    for tap in range(shape_of(found["w"])[2 + d]):
        first, last = -((tap * gap - p) // s), (out - 1 + p - tap * gap) // s
        low = max(0, first)
        ranges.append((low, max(low, min(size, last + 1))))
    return ranges


def _under(found: Bindings) -> fx.Node:
    """Return the node under the reduction at the root of the match."""
    return found[""][1]


def all_positions(found: Bindings) -> dict[str, Any] | None:
    """The mean runs over all spatial dimensions, and there is one group."""
    spatial = rank_of(found["x"]) - 2
    if tuple(found["dims"]) != tuple(range(-spatial, 0)) or found["groups"] != 1:
        return None
    conv = _under(found)
    return {
        "ranges": [_ranges(found, conv, d) for d in range(spatial)],
        "positions": float(math.prod(shape_of(conv)[2:])),
        "shape": list(shape_of(found[""][0])),
    }


def first_dimension(found: Bindings) -> dict[str, Any] | None:
    """The mean runs over the first of three spatial dimensions, and there is one group. The other
    two form a transposed convolution of their own."""
    if tuple(found["dims"]) != (-3,) or found["groups"] != 1:
        return None
    conv = _under(found)
    rest = ("stride", "padding", "extra", "dilation")
    return {
        "ranges": _ranges(found, conv, 0),
        "positions": float(shape_of(conv)[2]),
        "shape": list(shape_of(found[""][0])),
        **{f"{name}2": list(found[name][1:]) for name in rest},
    }


def pool_of_strides(found: Bindings) -> dict[str, Any] | None:
    """Windows are as wide and as far apart as the transposed convolution's stride, there is one
    group, taps are adjacent, and the positions that an ordinary convolution reads are inside x."""
    stride, pads = list(found["stride"]), found["padding"]
    is_plain = found["groups"] == 1 and all(d == 1 for d in found["dilation"])
    if not is_plain or list(found["size"]) != stride or list(found["far"]) != stride:
        return None
    kernel, sizes = shape_of(found["w"])[2:], shape_of(found["x"])[2:]
    before = [-(-p // s) for p, s in zip(pads, stride, strict=True)]
    front = [b * s - p for b, s, p in zip(before, stride, pads, strict=True)]
    taps = [-(-(k + f) // s) for k, f, s in zip(kernel, front, stride, strict=True)]
    own = [t - 1 - b for t, b in zip(taps, before, strict=True)]
    out = shape_of(found[""][0])[2:]
    made = [n + 2 * p - t + 1 for n, p, t in zip(sizes, own, taps, strict=True)]
    if min(own) < 0 or made != list(out):
        return None
    one, area = [1] * len(out), float(math.prod(stride))
    return {"front": front, "own": own, "one": one, "area": area}


def pool_of_one_tap(found: Bindings) -> dict[str, Any] | None:
    """There is one tap, stride 1 and no padding; windows are more than 1 apart, so that less is
    convolved."""
    is_one = all(n == 1 for n in (*shape_of(found["w"])[2:], *found["stride"]))
    is_fewer = math.prod(found["far"]) > 1 and not any(found["padding"])
    return {} if is_one and is_fewer else None


def pool_of_plain(found: Bindings) -> dict[str, Any] | None:
    """Windows are side by side over a convolution of stride 1 without padding, with one group;
    together they need fewer products."""
    size, kernel = list(found["size"]), shape_of(found["w"])[2:]
    steps = (*found["stride"], *found["dilation"], found["groups"])
    if list(found["far"]) != size or any(n != 1 for n in steps) or any(found["padding"]):
        return None
    wider = math.prod((k + s - 1) / k for k, s in zip(kernel, size, strict=True))
    return {} if wider < math.prod(size) else None


def wide_steps(found: Bindings) -> dict[str, Any] | None:
    """Strides are three or more over few channels, with one group and adjacent taps."""
    stride, kernel = list(found["stride"]), shape_of(found["w"])[2:]
    is_plain = found["groups"] == 1 and all(d == 1 for d in found["dilation"])
    channels = shape_of(found["w"])[1]
    if not is_plain or min(stride) < WIDE_STEP or channels > FEW_CHANNELS:
        return None
    taps = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    out = shape_of(found[""][0])[2:]
    sizes = [s * (o + t - 1) for s, o, t in zip(stride, out, taps, strict=True)]
    whole = [s * t for s, t in zip(stride, taps, strict=True)]
    zeros, one = [0] * len(out), [1] * len(out)
    return {"sizes": sizes, "whole": whole, "zeros": zeros, "one": one}


def one_tap(found: Bindings) -> dict[str, Any] | None:
    """There are one tap, one group and no padding, and numbers have 16 bits."""
    weight = found["w"].meta["val"]
    is_one = all(n == 1 for n in (*weight.shape[2:], found["groups"]))
    if not is_one or any(found["padding"]) or weight.dtype.itemsize != 2:
        return None
    return plain_weight(found)


def factor_of_convolution(found: Bindings) -> dict[str, Any] | None:
    """c is a number, or a tensor of one element that changes neither the result's dtype nor its
    number of dimensions; x is a convolution."""
    c, x = found["c"], found["x"]
    if isinstance(c, fx.Node):
        same = c.meta["val"].dtype == x.meta["val"].dtype
        if not same or math.prod(shape_of(c)) != 1 or rank_of(c) > rank_of(found[""][0]):
            return None
    return {} if getattr(x.target, "__name__", "").startswith("conv") else None
