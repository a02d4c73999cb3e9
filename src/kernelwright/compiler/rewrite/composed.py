"""Operators of replacements that combine several of ATen's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

AddNode = Callable[..., Any]
"""``pattern.call`` bound to its graph: adds a node for an ATen operator."""
Range = tuple[int, int]


def swapped(call: AddNode, x: fx.Node) -> fx.Node:
    """Exchange the last two dimensions."""
    return call("transpose", x, -2, -1)


def range_sums(call: AddNode, x: fx.Node, dim: int, ranges: Sequence[Range]) -> fx.Node:
    """Return sums of ``x`` over each of ``ranges`` along ``dim``, side by side there. Equal ranges
    are summed once."""
    size = x.meta["val"].shape[dim]

    def whole(lo: int, hi: int) -> fx.Node:
        part = x if (lo, hi) == (0, size) else call("slice", x, dim, lo, hi)
        return call("sum", part, [dim], True)

    sums = {(lo, hi): whole(lo, hi) for lo, hi in dict.fromkeys(ranges)}
    if len(sums) == 1:
        (only,) = sums.values()
        shape = [*only.meta["val"].shape]
        return call("expand", only, [*shape[:dim], len(ranges), *shape[dim + 1 :]])
    return call("cat", [sums[r] for r in ranges], dim)


def tap_sums(call: AddNode, x: fx.Node, ranges: Sequence[Sequence[Range]]) -> fx.Node:
    """Return one row per image: for every channel and tap, the sum of the values of ``x`` that the
    tap reads."""
    for number, of_dim in reversed(list(enumerate(ranges))):
        x = range_sums(call, x, 2 + number, of_dim)
    return call("reshape", x, [x.meta["val"].shape[0], -1])


def weight_rows(call: AddNode, w: fx.Node) -> fx.Node:
    """Return a transposed convolution's weight as a matrix with a row per input channel and tap."""
    rank = len(w.meta["val"].shape)
    turned = call("permute", w, [0, *range(2, rank), 1])
    return call("reshape", turned, [-1, w.meta["val"].shape[1]])


def taps_as_channels(call: AddNode, w: fx.Node) -> fx.Node:
    """Reshape (in, out, first tap, ...) to (in and first tap, out, ...)."""
    n_in, n_out, taps, *rest = w.meta["val"].shape
    turned = call("permute", w, [0, 2, 1, *range(3, 3 + len(rest))])
    return call("reshape", turned, [n_in * taps, n_out, *rest])


def joined_channels(call: AddNode, x: fx.Node) -> fx.Node:
    """Reshape (image, channel, first, ...) to (image, channel and first, ...)."""
    images, channels, first, *rest = x.meta["val"].shape
    return call("reshape", x, [images, channels * first, *rest])


def summed_taps(call: AddNode, w: fx.Node, stride: Sequence[int], front: Sequence[int]) -> fx.Node:
    """Return the weight of the ordinary convolution that equals a transposed one summed over
    windows of its stride. Per dimension, ``stride`` neighbouring taps become one, with ``front``
    zeros before the first."""
    taps = w.meta["val"].shape[2:]
    pads: list[int] = []
    groups = []
    for n, s, f in reversed(list(zip(taps, stride, front, strict=True))):
        groups.insert(0, -(-(n + f) // s))
        pads += [f, groups[0] * s - n - f]
    padded = call("constant_pad_nd", w, pads)
    shape = [x for group, s in zip(groups, stride, strict=True) for x in (group, s)]
    cut = call("reshape", padded, [*w.meta["val"].shape[:2], *shape])
    total = call("sum", cut, [3 + 2 * d for d in range(len(taps))])
    return call("transpose", call("flip", total, list(range(2, 2 + len(taps)))), 0, 1)


def flipped(call: AddNode, w: fx.Node) -> fx.Node:
    """Return a transposed convolution's weight as that of the ordinary convolution of stride 1."""
    rank = len(w.meta["val"].shape)
    return call("flip", call("transpose", w, 0, 1), list(range(2, rank)))


def boxed(call: AddNode, w: fx.Node, size: Sequence[int]) -> fx.Node:
    """Return one weight for a convolution and the average over ``size`` that follows it."""
    pads = [s - 1 for s in reversed(size) for _ in range(2)]
    pool = f"avg_pool{len(size)}d"
    return call(pool, call("constant_pad_nd", w, pads), list(size), [1] * len(size))


def steps_as_channels(
    call: AddNode, x: fx.Node, stride: Sequence[int], before: Sequence[int], sizes: Sequence[int]
) -> fx.Node:
    """Pad the spatial dimensions of ``x`` to ``sizes`` (or crop them at the end), with ``before``
    zeros before, then turn every block of ``stride`` positions into that many channels."""
    images, channels, *own = x.meta["val"].shape
    around = list(zip(own, before, sizes, strict=True))
    pads = [n for have, first, want in reversed(around) for n in (first, want - have - first)]
    padded = call("constant_pad_nd", x, pads) if any(pads) else x
    blocks = [n // s for n, s in zip(sizes, stride, strict=True)]
    shape = [n for pair in zip(blocks, stride, strict=True) for n in pair]
    cut = call("reshape", padded, [images, channels, *shape])
    spatial = range(len(own))
    turned = call(
        "permute", cut, [0, 1, *(3 + 2 * d for d in spatial), *(2 + 2 * d for d in spatial)]
    )
    n_channels = channels
    for s in stride:
        n_channels *= s
    return call("reshape", turned, [images, n_channels, *blocks])


def product_of_positions(
    call: AddNode, x: fx.Node, w: fx.Node, b: fx.Node | None, stride: Sequence[int]
) -> fx.Node:
    """Return a convolution of one tap as a product of every position's channels with the weights,
    with channels last."""
    for dim, step in enumerate(stride, 2):
        if step > 1:
            x = call("slice", x, dim, 0, x.meta["val"].shape[dim], step)
    rank = len(x.meta["val"].shape)
    rows = call("permute", x, [0, *range(2, rank), 1])
    outputs = call("linear", rows, call("reshape", w, list(w.meta["val"].shape[:2])), b)
    return call("permute", outputs, [0, rank - 1, *range(1, rank - 1)])


def with_bias(call: AddNode, x: fx.Node, b: fx.Node | None) -> fx.Node:
    """Return ``x`` plus the bias of its second dimension, if there is one."""
    if b is None:
        return x
    rank = len(x.meta["val"].shape)
    return call("add", x, call("view", b, [-1, *[1] * (rank - 2)]))


def narrowed(call: AddNode, x: fx.Node, dtype: torch.dtype) -> fx.Node:
    """Return the values of ``x``, a view of a cast from ``dtype``, in that type."""
    source: Any = x.args[0]
    if source.meta["val"].dtype == dtype:
        return source  # type: ignore[no-any-return]
    below = narrowed(call, source, dtype)
    is_view = x.target in (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
    return call("reshape" if is_view else x.target, below, *x.args[1:], **x.kwargs)


COMPOSED: dict[str, Callable[..., fx.Node]] = {
    "mT": swapped, "range_sums": range_sums, "tap_sums": tap_sums, "weight_rows": weight_rows,
    "taps_as_channels": taps_as_channels, "joined_channels": joined_channels,
    "summed_taps": summed_taps, "with_bias": with_bias, "steps_as_channels": steps_as_channels,
    "flipped": flipped, "boxed": boxed, "product_of_positions": product_of_positions,
    "narrowed": narrowed,
}  # fmt: skip
