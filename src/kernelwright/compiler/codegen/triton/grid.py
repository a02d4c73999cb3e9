"""The positions of a convolution's image with its padding, numbered, so that taps are distances.

An output reads its taps at fixed distances from its own position: where steps are one, rows of a
matrix with one row per position, moved as a whole, are what a tap needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.compiler.codegen.triton.image import image_of, layouts
from kernelwright.compiler.ir.ir import Axis, Contraction, Stretch

_ALIGNED = 8
"""Channels of a row are filled up to these: 16 bytes of float16, as descriptors want."""
_BLOCK = 32
"""Elements of k that are multiplied at once at least: rows of so many need not be longer. The
narrowest block that any schedule of shifted rows has."""
MOST_WASTE = 1.8
"""Positions for an output: with more the products of those that nobody wants cost too much. Chosen,
not measured: shifted rows were 1.6 to 2.4 times as quick as the library (LOG.md), so that with as
many positions nothing is left. 3 by 3 taps over 8 by 8 outputs have 1.6, over 4 by 4 have 2.3."""


@dataclass(frozen=True)
class Grid:
    """The padded positions of all images."""

    images: int
    sizes: tuple[int, ...]
    """Of the image along its dimensions in space."""
    before: tuple[int, ...]
    """Padding before the first position along each."""
    padded: tuple[int, ...]
    """Positions along each, padding included."""
    channel: Axis
    joined: Axis | None
    """The tap along the last dimension, where its reads lie side by side and channels alone make
    no whole blocks: one long row."""
    taps: tuple[Axis, ...]
    """The other taps."""
    distance: dict[str, int]
    """By tap: positions from one to the next; by stretched tap: those of a step of one."""
    rows: tuple[tuple[Axis, int, int], ...]
    """Axes of outputs, the outermost first: (axis, positions from one to the next, how many such
    steps until the next axis moves)."""

    @property
    def n_positions(self) -> int:
        return self.images * math.prod(self.padded)

    @property
    def aligned(self) -> int:
        """Elements of a position."""
        return _aligned(self.channel.size)

    @property
    def width(self) -> int:
        """Elements that one row has of all channels and joined taps."""
        return self.aligned * (self.joined.size if self.joined else 1)


def _aligned(channels: int) -> int:
    return math.ceil(channels / _ALIGNED) * _ALIGNED


def phase_axis(axis: Axis, stretches: tuple[Stretch, ...]) -> Axis:
    """The axis of outputs as one phase of a transposed convolution has it."""
    stretch = next((s for s in stretches if s.out == axis.name), None)
    return Axis(axis.name, math.ceil(axis.size / stretch.stride)) if stretch else axis


def grid_of(step: Contraction) -> Grid | None:
    """The grid of ``step``; None where its outputs are not side by side on one, or too few are."""
    if step.batch or "last" not in layouts(step):
        return None
    image, tensor = image_of(step, "as is"), step.a.tensor
    sizes, strides = tensor.shape[2:], tensor.strides[2:]
    if image.channel is None or image.channel.size != tensor.shape[1]:
        return None
    if not image.taps:  # dimensions in space are one: nothing moves along them
        sizes, strides = (math.prod(sizes),), (1,)
    padding = _padding(step, sizes, strides)
    if padding is None:
        return None
    before, after = padding
    padded = tuple(b + n + a for b, n, a in zip(before, sizes, after, strict=True))
    wide = tuple(math.prod(padded[d + 1 :]) for d in range(len(sizes)))

    def positions(coefficient: int) -> int | None:
        found = _along(coefficient, sizes, strides)
        return None if found is None else found[1] * wide[found[0]]

    outs = {s.tap: s.out for s in step.stretches}
    index = step.a.index
    distance = {a.name: positions(index.coefficient(outs.get(a.name, a.name))) for a in image.taps}
    rows = _rows(step, positions, math.prod(padded))
    if rows is None or None in distance.values() or not _spans(rows, sizes, before, after, wide):
        return None
    known = {name: far for name, far in distance.items() if far is not None}
    n_out = math.prod(axis.size for axis, _, _ in rows)
    images = tensor.shape[0]
    if images * math.prod(padded) > MOST_WASTE * n_out:
        return None
    aligned = _aligned(image.channel.size)
    sides = [a for a in image.taps if a.name not in outs and known[a.name] == 1]
    last = sides[0] if sides and aligned % _BLOCK else None
    taps = tuple(axis for axis in image.taps if axis != last)
    return Grid(images, sizes, before, padded, image.channel, last, taps, known, rows)


def _along(
    coefficient: int, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, int] | None:
    """(dimension in space, steps along it) of a distance in memory."""
    for d, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if coefficient > 0 and coefficient % stride == 0 and coefficient // stride < max(2, size):
            return d, coefficient // stride
    return None


def _padding(
    step: Contraction, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Positions before and after each dimension that outputs read."""
    before, after = [0] * len(sizes), [0] * len(sizes)
    size_of = {axis.name: axis.size for axis in (*step.m, *step.k)}
    index = step.a.index
    for bound in step.a.bounds:
        found = {
            _along(index.coefficient(axis) // c, sizes, strides)
            for axis, c in bound.index.terms
            if c > 0 and index.coefficient(axis) % c == 0
        }
        (place,) = found if len(found) == 1 else (None,)
        if place is None or place[1] != 1 or (bound.low, bound.high) != (0, sizes[place[0]]):
            return None
        reach = sum((size_of[axis] - 1) * c for axis, c in bound.index.terms)
        before[place[0]] = max(0, -bound.index.offset)
        after[place[0]] = max(0, reach + bound.index.offset - (bound.high - 1))
    if index.offset != -sum(b * s for b, s in zip(before, strides, strict=True)):
        return None
    for d, s in enumerate(step.stretches):  # one along each dimension, in their order
        if _along(index.coefficient(s.out), sizes, strides) != (d, 1):
            return None  # a dimension of one element has its neighbour's stride
        low, high = _reach(s, size_of[s.out], size_of[s.tap])
        before[d], after[d] = max(0, -low), max(0, high - (s.size - 1))
    return tuple(before), tuple(after)


def _reach(s: Stretch, n_outs: int, n_taps: int) -> tuple[int, int]:
    """The first and the last position that a phase's outputs read, those of no output too."""
    apart = s.dilation // math.gcd(s.stride, s.dilation)
    low, high = 0, math.ceil(n_outs / s.stride) - 1
    for phase in range(s.stride):
        taps = [t for t in range(n_taps) if (phase + s.padding - t * s.dilation) % s.stride == 0]
        if taps:
            start = (phase + s.padding - taps[0] * s.dilation) // s.stride
            low = min(low, start - (len(taps) - 1) * apart)
            high = max(high, start + math.ceil(n_outs / s.stride) - 1)
    return low, high


def _rows(
    step: Contraction, positions: Callable[[int], int | None], image: int
) -> tuple[tuple[Axis, int, int], ...] | None:
    """The axes of outputs on the grid; None where they do not follow one another."""
    found: list[tuple[Axis, int]] = []
    for axis in (phase_axis(a, step.stretches) for a in step.m):
        coefficient = step.a.index.coefficient(axis.name)
        is_image = coefficient == step.a.tensor.strides[0]
        far = image if is_image else positions(coefficient)
        if far is None:
            return None
        found.append((axis, far))
    found.sort(key=lambda pair: -pair[1])
    if not found or found[-1][1] != 1:
        return None
    whole = [step.a.tensor.shape[0] * image, *(far for _, far in found)]
    rows = []
    for (axis, far), above in zip(found, whole, strict=False):
        if above % far or above // far < axis.size:
            return None
        rows.append((axis, far, above // far))
    return tuple(rows)


def _spans(
    rows: Sequence[tuple[Axis, int, int]], sizes: Sequence[int], before: Sequence[int],
    after: Sequence[int], wide: Sequence[int],
) -> bool:  # fmt: skip
    """Whether an axis that runs over several dimensions meets no padding between them."""
    for axis, far, _ in rows:
        d = next((d for d, w in enumerate(wide) if w == far), None)
        rest = axis.size
        while d is not None and d > 0 and rest > sizes[d] + before[d] + after[d]:
            if before[d] or after[d]:
                return False
            rest, d = math.ceil(rest / sizes[d]), d - 1
    return True
