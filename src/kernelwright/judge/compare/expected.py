"""Expectations: the results that a call should return, and the errors that are allowed.

The yardstick is the reference's own error against float64 on the same inputs. Whole numbers are
compared exactly (``whole``). Errors of others are those of ``measures``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

from kernelwright.core.outcome import Warned
from kernelwright.judge.compare.float8 import is_float8
from kernelwright.judge.compare.growth import floor_error
from kernelwright.judge.compare.measures import (
    as_real,
    distances,
    error_of,
    finite_in_both,
    largest_size,
    row_scale,
    share_of,
    typical_error,
)

FACTOR = 4.0
"""Factor of the reference's own error that a candidate may have: a choice, tested by the zoo's
honest kernels and by injected faults."""
CONDITION_FACTOR = 16.0
"""Factor of the effect of moving the inputs by one ulp that a candidate may be off: every step of a
sound computation rounds, not its inputs alone. For sums it is their growth, if that is larger. If
the reference rounds to types narrower than float32 it is FACTOR: the library adds those in
float32."""
ROUNDING = {"tf32": 2.0**-11, "bf16": 2.0**-8, "fp16": 2.0**-11}
"""The largest relative error of rounding to nearest."""
USELESS = 0.25
"""Error, relative to the row's largest value, beyond which nothing can be said of a result."""
MOST_TYPICAL = 1 / 16
"""Typical error up to which a narrow result says something all the same, a tenth of what nonsense
is typically off by: with a batch norm of small variances the few rows that come out near zero are
off by more than themselves in bfloat16, and all others by 0.007 to 0.05."""
LOOSE_SHARE = 0.005
"""Share of an output's numbers that may depend on rounding, on the task's own inputs. Where more
integers do, their values are a convention that a candidate has to keep."""
SPREAD = 2.0
"""Factor of the reference's share of ill-conditioned numbers that a candidate may have: the
diagonal of a matrix of distances is no excuse for errors elsewhere."""
NARROW_ERROR = 2.0**-14
"""Error, relative to the row's largest value, that shows a narrow type inside: rounding a result to
float16 is off by up to 2^-12."""
TYPICAL, FEWEST_TYPICAL = 0.4, 256
"""Root mean square error of rounding a result once, in units of the type's roundoff; and the fewest
numbers of which a typical error is taken."""
TYPICAL_FLOAT8 = 2.0**-7
"""The same, relative to the numbers themselves, of float8: numbers that were off by bfloat16's
roundoff before they were rounded. One in a hundred lies near enough to a border to be rounded to
the other side, by an eighth of itself or less."""
FEW_OFF = 1 / 32
"""Typical error, relative to the largest, up to which only few numbers of an output are off.
Products rounded to bfloat16 come to an eighth."""


@dataclass(frozen=True)
class Output:
    """The expected values of one output, and the errors that are allowed."""

    exact: torch.Tensor
    """float64; integers and booleans as they are."""
    own: torch.Tensor
    """The reference's result in its own precision; empty where only ``exact`` is compared with."""
    scale: torch.Tensor
    """The scale that errors are measured on, as ``row_scale`` gives it."""
    finite: torch.Tensor | None
    """The mask of places where it is finite in both; None if that is everywhere."""
    allowed: float
    """The allowed error."""
    error: float = 0.0
    """The reference's own error."""
    sound: float = 0.0
    """The error that any sound implementation may have everywhere."""
    beyond: float = 0.0
    """The share of the numbers that may exceed ``sound``."""
    typical: float = 0.0
    """The reference's root mean square error, if its numbers are, or were before, narrower than
    float32; zero for others, and where it says nothing."""
    loose: torch.Tensor | None = None
    """The mask of integers that change when inputs move by their last digits; None until asked
    for."""
    jumps: torch.Tensor | None = None
    """The distance by which a number moves then, relative to its row's scale; None until asked
    for."""
    without_tf32: float = math.inf
    """The error that would be allowed if the library rounded no convolution to TF32."""

    @property
    def is_float(self) -> bool:
        return self.exact.is_floating_point()

    @property
    def is_useful(self) -> bool:
        """Whether the reference is near enough to float64 to say what is right."""
        is_near = self.error <= USELESS
        is_mostly_near = math.isfinite(self.error) and 0.0 < self.typical <= MOST_TYPICAL
        return self.is_float and (is_near or is_mostly_near)

    def distances(self, value: torch.Tensor) -> Iterator[torch.Tensor]:
        """The row-scaled distances of a value from ``exact``, piece by piece."""
        return distances(value, self.exact, self.finite, self.scale)

    def error_of(self, value: torch.Tensor) -> float:
        """The largest of these distances."""
        return error_of(value, self.exact, self.finite, self.scale)

    def share_beyond(self, value: torch.Tensor, limit: float) -> float:
        """The share of the numbers that are farther off than ``limit``."""
        return share_of(self.distances(value), limit)

    def without_numbers(self) -> Output:
        """The same allowances, for other numbers."""
        none = self.exact.new_empty(0)
        return replace(self, exact=none, own=none, scale=none, finite=None)


@dataclass(frozen=True)
class Expected:
    """The results that one call should return."""

    outputs: tuple[Output, ...]
    is_conditioned: bool = False
    """Whether the conditioning of the task is taken into account."""
    is_explained: bool = False
    """Whether it is taken into account how the reference's operators round."""
    loose_share: float = 1.0
    """Share of an output's elements that may differ where the last digits of inputs decide."""
    warnings: tuple[Warned, ...] = field(default=())

    @property
    def reference_error(self) -> float:
        """The largest of the reference's own errors."""
        return max((one.error for one in self.outputs), default=0.0)

    @property
    def is_useful(self) -> bool:
        """Whether that is so of all outputs but whole numbers."""
        return all(one.is_useful for one in self.outputs if one.is_float)


def expect(
    own: list[torch.Tensor],
    exact: list[torch.Tensor],
    growth_ulp: list[float],
    *,
    by_row: bool = True,
    narrow: torch.dtype = torch.float32,
) -> Expected:
    """Work out what to expect where the reference returns ``own`` and float64 gives ``exact``;
    ``narrow``: the narrowest type of its inputs and weights.

    Without ``by_row`` errors are measured on an output's largest value: where single numbers
    outweigh all others, algorithms that are stable by norm only (Strassen's) carry them elsewhere.

    Units:
        ``growth_ulp``: by how many ulp each output's sums may be off, see ``summation_growth``.
    """
    is_narrow = torch.finfo(narrow).bits < 32
    rows = zip(as_real(own), as_real(exact), growth_ulp, strict=True)
    found = [_output(*row, by_row=by_row, is_narrow=is_narrow) for row in rows]
    return Expected(tuple(found))


def _output(
    own: torch.Tensor, exact: torch.Tensor, growth: float, *, by_row: bool, is_narrow: bool
) -> Output:
    finite = finite_in_both(own, exact)
    if not exact.is_floating_point():
        return Output(exact, own, exact.new_ones(()), finite, 0.0)
    if is_float8(own):  # the rounding is what was asked for, and all have the same
        exact = exact.to(own.dtype).to(exact.dtype)
    scale = row_scale(exact) if by_row else largest_size(exact)
    error = error_of(own, exact, finite, scale)
    sound = floor_error(own.dtype, growth)
    allowed = max(FACTOR * error, sound)
    beyond = 0.0
    if allowed > sound:
        beyond = SPREAD * share_of(distances(own, exact, finite, scale), sound / FACTOR)
    typical = _typical(
        (own, exact, finite, scale), error if is_narrow and error > NARROW_ERROR else 0.0
    )
    kept = own.new_empty(0) if finite is None else own
    return Output(exact, kept, scale, finite, allowed, error, sound, beyond, typical)


def _typical(
    told: tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor], widened_error: float
) -> float:
    """The reference's typical error, or that of rounding a result to its narrow type if that is
    larger.

    ``widened_error`` is the largest error of a result that was widened after it was rounded. Zero
    for other results, for few numbers, and where few of the widened numbers are off.
    """
    own, exact, finite, scale = told
    is_narrow = own.element_size() < 4
    if not (is_narrow or widened_error > 0) or own.numel() < FEWEST_TYPICAL:
        return 0.0
    typical = typical_error(own, exact, finite, scale)
    if not is_narrow:
        return typical if typical > FEW_OFF * widened_error else 0.0
    size = typical_error(exact.new_zeros(()).expand_as(exact), exact, finite, scale)
    rounding = TYPICAL_FLOAT8 if is_float8(own) else TYPICAL * torch.finfo(own.dtype).eps / 2
    return max(typical, rounding * size)


def useful_part(expected: Expected) -> Expected:
    """Leave out the outputs in which the reference is too far off to say what is right, as in the
    mean of normalised numbers, and integers, which may depend on those."""
    return replace(
        expected,
        outputs=tuple(
            one
            if one.is_useful
            else replace(one, error=0.0, allowed=math.inf, beyond=1.0)
            if one.is_float
            else replace(one, loose=torch.ones_like(one.exact, dtype=torch.bool))
            for one in expected.outputs
        ),
    )


def as_own(own: list[torch.Tensor], exact: list[torch.Tensor], growth_ulp: list[float]) -> Expected:
    """Expect the reference's ``own`` results, here widened to ``exact`` ones, with no allowance
    beyond the usual: in float64 the reference gives something else."""
    expected = expect(own, exact, growth_ulp)
    return replace(expected, is_conditioned=True, is_explained=True, loose_share=LOOSE_SHARE)
