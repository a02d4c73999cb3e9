"""Arithmetic on affine index expressions: sums, row-major positions, and exact division."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelwright.compiler.ir.ir import Affine, Bound
from kernelwright.compiler.ir.sizes import is_free

ZERO = Affine()


class NeedsSplit(Exception):
    """The expression becomes affine once ``axis`` is split, with an inner part of size
    ``inner``."""

    def __init__(self, axis: str, inner: int) -> None:
        super().__init__(axis, inner)
        self.axis = axis
        self.inner = inner


class NotAffine(Exception):
    """No split of the axes makes the expression affine."""


def plus(*parts: Affine) -> Affine:
    """Return the sum of the expressions."""
    coefficients: dict[str, int] = {}
    for part in parts:
        for axis, coefficient in part.terms:
            coefficients[axis] = coefficients.get(axis, 0) + coefficient
    return Affine.of(coefficients, sum(part.offset for part in parts))


def times(expression: Affine, factor: int) -> Affine:
    """Return the product with an integer."""
    return Affine.of({a: c * factor for a, c in expression.terms}, expression.offset * factor)


def extent(expression: Affine, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the smallest and the largest value over axes of the given sizes."""
    spans = [coefficient * (sizes[axis] - 1) for axis, coefficient in expression.terms]
    low = expression.offset + sum(span for span in spans if span < 0)
    return low, expression.offset + sum(span for span in spans if span > 0)


def exceeds(bound: Bound, sizes: Mapping[str, int]) -> tuple[bool, bool]:
    """Return whether an index may be below its bound, and whether it may be above.

    Where a free size is on one side alone, it may: in another call if not in this one.
    """
    lowest, highest = extent(bound.index, sizes)
    below = lowest < bound.low or is_free(lowest) != is_free(bound.low)
    return below, highest >= bound.high or is_free(highest) != is_free(bound.high)


def ravel(coordinates: Sequence[Affine], shape: Sequence[int]) -> Affine:
    """Return the row-major position of ``coordinates`` in ``shape``."""
    position = ZERO
    for coordinate, size in zip(coordinates, shape, strict=True):
        position = plus(times(position, size), coordinate)
    return position


def unravel(position: Affine, shape: Sequence[int], sizes: Mapping[str, int]) -> list[Affine]:
    """Return the coordinates in ``shape`` of a row-major position.

    Raises:
        NeedsSplit: an axis runs across a boundary of ``shape`` and can be split there.
        NotAffine: an axis runs across a boundary and cannot be split there.
    """
    coordinates: list[Affine] = []
    for size in reversed(shape[1:]):
        position, remainder = divide(position, size, sizes)
        coordinates.append(remainder)
    if shape:
        coordinates.append(position)
    return coordinates[::-1]


def divide(value: Affine, divisor: int, sizes: Mapping[str, int]) -> tuple[Affine, Affine]:
    """Return quotient and remainder, both affine and exact. Raises as ``unravel``."""
    if divisor == 1:
        return value, ZERO
    whole = {axis: c // divisor for axis, c in value.terms if c % divisor == 0}
    rest = {axis: c for axis, c in value.terms if c % divisor}
    quotient = Affine.of(whole, value.offset // divisor)
    remainder = Affine.of(rest, value.offset % divisor)
    low, high = extent(remainder, sizes)
    if low >= 0 and high < divisor:
        return quotient, remainder
    for axis, c in rest.items():
        inner = divisor // c if c > 0 and divisor % c == 0 else 0
        if inner and 1 < inner < sizes[axis] and sizes[axis] % inner == 0:
            raise NeedsSplit(axis, inner)
    raise NotAffine(f"{value} by {divisor}")


def is_permutation(position: Affine, sizes: Mapping[str, int], n_elements: int) -> bool:
    """Return whether ``position`` takes every value below ``n_elements`` exactly once over its
    axes."""
    expected = 1
    for axis, coefficient in sorted(position.terms, key=lambda term: term[1]):
        if coefficient != expected:
            return False
        expected *= sizes[axis]
    return expected == n_elements and position.offset == 0
