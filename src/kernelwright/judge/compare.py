"""Numerics: a candidate's outputs against float64, with the reference's own error as yardstick.

The error of an output x against the float64 result e is the largest |x - e| / s, where s is the
largest |e| in the same row (the last axis): small rows cannot hide behind large ones. Rows that
are small by chance are measured as if they were a quarter of the median row. A candidate may be
FACTOR times as far from
float64 as the reference itself on the same inputs, or as far as float64 moves when the inputs
are changed by one unit in the last place (so that no one is blamed for an ill-conditioned task),
or as far as any sound order of summation may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch

FACTOR = 4.0
"""How much worse than the reference's own error a candidate may be: a choice, and the zoo's
honest kernels and injected faults are its test."""
CONDITION_FACTOR = 16.0
"""Likewise beside the effect of moving the inputs by one ulp: every step of a sound computation
rounds, not its inputs alone. For sums it is their growth, where that is larger."""
SUM_ULP = 12.0
MAX_GROWTH, MAX_BIASED_GROWTH = 256.0, 512.0
"""The floor for sums of n terms is (SUM_ULP + growth) float32 ulp. Rounding errors of sequential
summation grow as sqrt(n); where terms are equal, roundings are too, and they grow as n/2 (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, 4.2)."""
SMALL_ROW = 0.25
"""Of the median row's largest value: the least scale that a row is measured on. Without it the
error is a ratio with a heavy tail (a ReLU leaves rows of any smallness), and honest kernels fail
by bad luck; rows of zeros in place of values are still seen down to 1e-6 of the median row."""
ROW_FLOOR = 1e-6
"""Of the largest value, likewise: for outputs whose rows have nothing in common."""
ULP32 = 2.0**-24


class WrongValues(Exception):
    """Outputs that are not the reference's, and where."""


@dataclass(frozen=True)
class Expected:
    """What one call should return, and how far from it an answer may lie."""

    exact: list[torch.Tensor]
    """float64 (integers and booleans as they are), one per output."""
    own: list[torch.Tensor]
    """The reference's result in its own precision."""
    allowed: list[float]
    """The allowed error of each output."""
    reference_error: float
    is_conditioned: bool = False
    """Whether ``allowed`` takes the conditioning of the task into account."""
    warnings: tuple[str, ...] = field(default=())


def row_scale(exact: torch.Tensor) -> torch.Tensor:
    """The scale that errors of ``exact`` are measured on.

    Shapes:
        As ``exact``, with a last axis of 1 (a scalar stays a scalar).
    """
    size = torch.nan_to_num(exact.abs(), nan=0.0, posinf=0.0, neginf=0.0)
    largest = size.max() if size.numel() else size.new_zeros(())
    rows = size.amax(-1, keepdim=True) if exact.dim() > 1 and exact.shape[-1] > 1 else largest
    present = rows[rows > 0]
    typical = present.median() if present.numel() else largest
    least = torch.maximum(typical * SMALL_ROW, largest * ROW_FLOOR)
    # An output that is all zeros has no scale: its errors are absolute.
    return torch.maximum(rows, torch.where(largest > 0, least, torch.ones_like(least)))


def error_of(value: torch.Tensor, exact: torch.Tensor, finite: torch.Tensor | None = None) -> float:
    """The largest row-scaled error; infinite where ``value`` is not finite and ``exact`` is."""
    if exact.numel() == 0:
        return 0.0
    distance = (value.to(exact.dtype) - exact).abs_().div_(row_scale(exact))
    if finite is not None:
        distance = distance[finite]
        if distance.numel() == 0:
            return 0.0
    worst = float(distance.max())
    return math.inf if math.isnan(worst) else worst


def summation_growth(n_terms: float, *, equal_terms: bool) -> float:
    """By how many ulp a sound sum of ``n_terms`` may be off."""
    if equal_terms:
        return min(n_terms / 2, MAX_BIASED_GROWTH)
    return min(math.sqrt(n_terms), MAX_GROWTH)


def floor_error(dtype: torch.dtype, growth_ulp: float) -> float:
    """The error that any sound implementation may have, whatever the reference's own is."""
    ulp = torch.finfo(dtype).eps / 2
    return 2 * ulp + ULP32 * (SUM_ULP + growth_ulp)


def allowed_error(own: torch.Tensor, exact: torch.Tensor, growth_ulp: float) -> tuple[float, float]:
    """The allowed error of one output, and the reference's own."""
    if not exact.is_floating_point():
        return 0.0, 0.0
    reference = error_of(own, exact, finite_in_both(own, exact))
    return max(FACTOR * reference, floor_error(own.dtype, growth_ulp)), reference


def conditioning(moved: torch.Tensor, exact: torch.Tensor, own: torch.Tensor) -> float:
    """How far the float64 result moves when the inputs move by one unit in the last place."""
    if not exact.is_floating_point() or not bool(moved.isfinite().eq(exact.isfinite()).all()):
        return 0.0
    return error_of(moved, exact, finite_in_both(own, exact))


def finite_in_both(own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor | None:
    """Where both are finite; None where that is everywhere."""
    finite = exact.isfinite() & own.isfinite()
    return None if bool(finite.all()) else finite


@dataclass(frozen=True)
class Agreement:
    """How well outputs agree: the error that uses most of its allowance, and warnings."""

    error: float = 0.0
    allowed: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of the allowance that the error uses."""
        return self.error / self.allowed if self.allowed else 0.0


def compare(outputs: list[torch.Tensor], expected: Expected) -> Agreement:
    """How well ``outputs`` agree with what was expected.

    Raises:
        WrongValues: an output is farther from float64 than allowed; says where and by how much.
    """
    worst, warnings = Agreement(), []
    for number, (value, exact) in enumerate(zip(outputs, expected.exact, strict=True)):
        own, allowed = expected.own[number], expected.allowed[number]
        name = "the output" if len(outputs) == 1 else f"output {number}"
        if not exact.is_floating_point():
            _compare_exactly(name, value, own)
            continue
        mask = finite_in_both(own, exact)
        if mask is not None and not _same_specials(value, own, mask):
            warnings.append(f"{name} has NaN or infinity where the reference differs")
        error = error_of(value, exact, mask)
        if error > allowed:
            raise WrongValues(_describe(name, value, exact, mask, error, allowed))
        worst = max(worst, Agreement(error, allowed), key=lambda one: one.share)
    return replace(worst, warnings=tuple(warnings))


def _same_specials(value: torch.Tensor, own: torch.Tensor, finite: torch.Tensor) -> bool:
    mine, theirs = value[~finite], own[~finite]
    return bool(torch.equal(mine.isnan(), theirs.isnan())) and bool(
        torch.equal(torch.nan_to_num(mine.float()), torch.nan_to_num(theirs.float()))
    )


def _compare_exactly(name: str, value: torch.Tensor, own: torch.Tensor) -> None:
    wrong = value != own
    if bool(wrong.any()):
        share = float(wrong.float().mean())
        where = tuple(wrong.nonzero()[0].tolist())
        raise WrongValues(
            f"{name}: {share:.3%} of the elements differ, first at {list(where)}: "
            f"{value[where].item()} instead of {own[where].item()}"
        )


def _describe(
    name: str,
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None,
    error: float,
    allowed: float,
) -> str:
    distance = (value.double() - exact).abs_().div_(row_scale(exact))
    distance = torch.nan_to_num(distance, nan=math.inf, posinf=math.inf)
    if finite is not None:
        distance = torch.where(finite, distance, 0.0)
    where = [int(i) for i in torch.unravel_index(distance.argmax(), distance.shape)]
    share = float((distance > allowed).double().mean())
    place = tuple(where)
    return (
        f"{name} is off by {error:.3g} of its row's largest value, {allowed:.3g} is allowed; "
        f"worst at {where}: {value[place].item():.6g} instead of {exact[place].item():.6g}; "
        f"{share:.2%} of the elements are beyond"
    )


def are_near(outputs: list[torch.Tensor], eager: list[torch.Tensor], usual: Expected) -> bool:
    """Whether outputs agree with eager's on the same inputs, as well as errors usually allow."""
    for value, other, allowed in zip(outputs, eager, usual.allowed, strict=True):
        if not other.is_floating_point():
            if not torch.equal(value, other):
                return False
            continue
        exact = other.double()
        if error_of(value, exact, finite_in_both(other, exact)) > allowed + usual.reference_error:
            return False
    return True
