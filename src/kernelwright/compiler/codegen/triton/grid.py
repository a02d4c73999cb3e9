"""The positions of a convolution's padded image, numbered so that taps are constant distances.

An output reads its taps at fixed distances from its own position. Where strides are one, a tap
needs rows of a matrix that has one row per position, all shifted by that distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.compiler.codegen.triton.image import image_of, layouts
from kernelwright.compiler.ir.ir import Axis, Contraction, Store, Stretch

_ALIGNED = 8
"""Multiple that a row's number of channels is padded to: 16 bytes of float16, as descriptors
require."""
_BLOCK = 32
"""Least number of elements of k that are multiplied at once, so that rows of this length need not
be longer: the narrowest block of any schedule of shifted rows."""
MOST_WASTE = 1.8
"""Largest ratio of positions to outputs; above it, the products of unused positions cost too much.
Chosen, not measured: shifted rows were 1.6 to 2.4 times as fast as the library (docs/lab), so that
twice as many positions would leave nothing. 3 by 3 taps over 8 by 8 outputs have 1.6, over 4 by 4
have 2.3."""


@dataclass(frozen=True)
class Grid:
    """The padded positions of all images."""

    images: int
    sizes: tuple[int, ...]
    """Size of the image along each spatial dimension."""
    before: tuple[int, ...]
    """Padding before the first position along each dimension."""
    padded: tuple[int, ...]
    """Number of positions along each dimension, padding included."""
    channel: Axis
    joined: Axis | None
    """The tap along the last dimension, if its reads are contiguous and channels alone do not fill
    whole blocks; together they form one long row."""
    taps: tuple[Axis, ...]
    """The other taps."""
    distance: dict[str, int]
    """Tap → number of positions to the next tap; for a stretched tap, of a step of one."""
    rows: tuple[tuple[Axis, int, int], ...]
    """Axes of the outputs, the outermost first: (axis, positions from one element to the next,
    number of such steps until the next axis moves)."""

    @property
    def n_positions(self) -> int:
        return self.images * math.prod(self.padded)

    @property
    def aligned(self) -> int:
        """Number of elements of one position."""
        return _aligned(self.channel.size)

    @property
    def width(self) -> int:
        """Number of elements in a row of all channels and joined taps."""
        return self.aligned * (self.joined.size if self.joined else 1)


def _aligned(channels: int) -> int:
    return math.ceil(channels / _ALIGNED) * _ALIGNED


def phase_axis(axis: Axis, stretches: tuple[Stretch, ...]) -> Axis:
    """Return the axis of outputs for one phase of a transposed convolution."""
    stretch = next((s for s in stretches if s.out == axis.name), None)
    return Axis(axis.name, math.ceil(axis.size / stretch.stride)) if stretch else axis


def taps_of_phase(s: Stretch, n_taps: int, phase: int) -> list[int]:
    """Return the taps that outputs of a phase read."""
    return [t for t in range(n_taps) if (phase + s.padding - t * s.dilation) % s.stride == 0]


def side_by_side(step: Contraction) -> Stretch | None:
    """Return the last stretch if one program can have both of its phases, so that it stores whole
    rows of a result; None if results are not contiguous along the stretch, or it has other phases
    than two. Totals of parts count rows of one phase."""
    if not step.stretches or step.part_totals:
        return None
    last = step.stretches[-1]
    stores = [op for op in step.body if isinstance(op, Store)]
    is_contiguous = all(op.index.coefficient(last.out) == 1 for op in stores)
    return last if last.stride == 2 and last.out == step.m[-1].name and is_contiguous else None


def grid_of(step: Contraction) -> Grid | None:
    """Return the grid of ``step``; None if its outputs are not side by side on one, or too few of
    its positions are outputs."""
    if step.batch or "last" not in layouts(step):
        return None
    image, tensor = image_of(step, "as is"), step.a.tensor
    sizes, strides = tensor.shape[2:], tensor.strides[2:]
    if image.channel is None or image.channel.size != tensor.shape[1]:
        return None
    if not image.taps:  # all spatial dimensions are one, so that no axis moves along them
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
    """Return a distance in memory as (spatial dimension, steps along it)."""
    for d, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if coefficient > 0 and coefficient % stride == 0 and coefficient // stride < max(2, size):
            return d, coefficient // stride
    return None


def _padding(
    step: Contraction, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the numbers of positions before and after each dimension that outputs read."""
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
    # one stretch along each dimension, in the dimensions' order
    for d, s in enumerate(step.stretches):
        if _along(index.coefficient(s.out), sizes, strides) != (d, 1):
            return None  # a dimension of one element has the same stride as its neighbour
        low, high = _reach(s, size_of[s.out], size_of[s.tap])
        before[d], after[d] = max(0, -low), max(0, high - (s.size - 1))
    return tuple(before), tuple(after)


def _reach(s: Stretch, n_outs: int, n_taps: int) -> tuple[int, int]:
    """Return the first and last position that a phase reads, including positions of no output."""
    apart = s.dilation // math.gcd(s.stride, s.dilation)
    low, high = 0, math.ceil(n_outs / s.stride) - 1
    for phase in range(s.stride):
        taps = taps_of_phase(s, n_taps, phase)
        if taps:
            start = (phase + s.padding - taps[0] * s.dilation) // s.stride
            low = min(low, start - (len(taps) - 1) * apart)
            high = max(high, start + math.ceil(n_outs / s.stride) - 1)
    return low, high


def _rows(
    step: Contraction, positions: Callable[[int], int | None], image: int
) -> tuple[tuple[Axis, int, int], ...] | None:
    """Return the axes of outputs on the grid; None if they are not nested in one another."""
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
    """Return whether an axis that runs over several dimensions crosses no padding between them."""
    for axis, far, _ in rows:
        d = next((d for d, w in enumerate(wide) if w == far), None)
        rest = axis.size
        while d is not None and d > 0 and rest > sizes[d] + before[d] + after[d]:
            if before[d] or after[d]:
                return False
            rest, d = math.ceil(rest / sizes[d]), d - 1
    return True
