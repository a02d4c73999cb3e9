"""Compares a candidate's outputs with what was expected.

There are four tests, in this order:

1. The largest error is at most FACTOR times the reference's own on the same inputs, or what any
   sound order of summation may be off, or CONDITION_FACTOR times as far as float64 moves when
   inputs and weights move by one unit in the last place, so that no one is blamed for an
   ill-conditioned task.
2. Few numbers may be farther off, where they jump as inputs move: by JUMPED times as much.
3. At most SPREAD times the share of numbers that the reference has beyond any sound sum are there.
4. The typical error of narrow results is at most TYPICAL_FACTOR times the reference's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.compare.expected import LOOSE_SHARE, Expected, Output
from kernelwright.judge.compare.measures import (
    as_real,
    finite_in_both,
    row_scale,
    same_but_where,
    typical_error,
)
from kernelwright.judge.compare.pieces import cut_axis, pieces
from kernelwright.judge.compare.whole import as_bytes, compare_exactly
from kernelwright.judge.refusal import WrongValues

LOOSE_ROWS = 1 / 8
"""Share of an output's rows that may jump with rounding: what is rounded to a step and then goes
through a product moves a whole row."""
JUMPED = 1.5
"""Factor of a number's jump, when inputs moved by their last digits, that it may be off."""
TYPICAL_FACTOR = 3.0
"""Factor of the reference's typical error that a candidate's may have. Rounding at every step of a
softmax or a norm was 2.3 times the library's own, a product of 8 bits 4.0, an approximated GELU 6.2
(torch 2.13, a CPU)."""
WITHIN_TF32 = (
    "errors are larger than float32's, within those of TF32, which the library may take for "
    "convolutions here"
)


@dataclass(frozen=True)
class Agreement:
    """The agreement of outputs: the error that uses most of its allowance, and warnings."""

    error: float = 0.0
    allowed: float = 0.0
    warnings: tuple[Warned, ...] = ()

    @property
    def share(self) -> float:
        """The share of the allowance that the error uses."""
        return self.error / self.allowed if self.allowed else 0.0


def compare(values: list[torch.Tensor], expected: Expected) -> Agreement:
    """Say how well the outputs ``values`` agree with what was expected.

    Raises:
        WrongValues: an output is farther from float64 than allowed; says where and by how much.
    """
    worst, warnings = Agreement(), list[Warned]()
    for number, (value, output) in enumerate(zip(as_real(values), expected.outputs, strict=True)):
        name = "the output" if len(values) == 1 else f"output {number}"
        if not output.is_float:
            warnings += compare_exactly(name, value, output, expected.loose_share)
            continue
        finite = output.finite
        if finite is not None and not same_but_where(finite, value, output.own):
            warnings.append(_not_finite(f"{name} has NaN or infinity where the reference differs"))
        error = output.error_of(value)
        if math.isinf(error) and math.isinf(output.allowed):
            warnings.append(_not_finite(f"{name} is not finite where the reference is"))
            continue
        if error > output.allowed:
            warnings.append(_jumped(name, value, output, expected.loose_share, error))
        else:
            _refuse_spread(name, value, output, error)
            worst = max(worst, Agreement(error, output.allowed), key=lambda one: one.share)
        if output.without_tf32 < error < math.inf:
            warnings.append(Warned(WarningCode.TF32, WITHIN_TF32))
        _refuse_typical(name, value, output)
    return replace(worst, warnings=tuple(warnings))


def _not_finite(told: str) -> Warned:
    return Warned(WarningCode.NOT_FINITE, told)


def _jumped(
    name: str, value: torch.Tensor, output: Output, loose_share: float, error: float
) -> Warned:
    """Warn of numbers beyond the allowed error that jump as far when inputs move.

    Raises:
        WrongValues: there are too many of them, or they are off by more.
    """
    where, share, of_rows = _worst(value, output)
    is_little = share <= loose_share or of_rows <= LOOSE_ROWS
    if is_little and output.jumps is not None and _are_jumps(value, output, output.jumps):
        told = f"{name}: numbers differ where the inputs' last digits decide"
        return Warned(WarningCode.LAST_DIGITS, told)
    told = _told(value[where].item(), output.exact[where].item(), list(where))
    if math.isinf(error):
        raise WrongValues(f"{name} is not finite where the reference is, {told}")
    raise WrongValues(
        f"{name} is off by {error:.3g} of its row's largest value, {output.allowed:.3g} is "
        f"allowed; worst {told}; {share:.2%} of the elements are beyond",
        is_little=is_little,
        error=error,
    )


def _told(found: float, wanted: float, where: list[int]) -> str:
    """The two numbers and their place, in enough digits to tell them apart."""
    digits = 6 if f"{found:.6g}" != f"{wanted:.6g}" else 17
    return f"at {where}: {found:.{digits}g} instead of {wanted:.{digits}g}"


def _refuse_spread(name: str, value: torch.Tensor, output: Output, error: float) -> None:
    """Refuse errors of ill-conditioned numbers in more numbers than are ill-conditioned."""
    sound, most = output.sound, max(LOOSE_SHARE, output.beyond)
    if error <= sound or most >= 1.0:
        return
    share = output.share_beyond(value, sound)
    if share > most:
        raise WrongValues(
            f"{name} is off by more than {sound:.3g} of its row's largest value in {share:.2%} of "
            f"its elements, and only {most:.2%} of them are ill-conditioned",
            error=error,
        )


def _refuse_typical(name: str, value: torch.Tensor, output: Output) -> None:
    """Refuse results that are off everywhere by as much as rounding to a narrow type is now and
    then. Numbers beyond the allowed error have jumped, and do not count."""
    usual = output.typical
    if not usual:
        return
    error = typical_error(value, output.exact, output.finite, output.scale, output.allowed)
    if error > TYPICAL_FACTOR * usual:
        raise WrongValues(
            f"{name} is typically off by {error:.3g} of its row's largest value, "
            f"{error / usual:.1f} times as much as the reference or its last rounding; "
            f"{TYPICAL_FACTOR:g} times is allowed"
        )


def _are_jumps(value: torch.Tensor, output: Output, jumps: torch.Tensor) -> bool:
    """Whether the numbers beyond the allowed error are off by no more than they jump."""
    rows = zip(output.distances(value), pieces(jumps), strict=True)
    return all(bool((d <= output.allowed + JUMPED * jump).all()) for d, (jump,) in rows)


def _worst(value: torch.Tensor, output: Output) -> tuple[tuple[int, ...], float, float]:
    """Return the place of the largest error, the share of the elements beyond the allowed error,
    and the share of the rows that hold them (1 if there are no rows)."""
    worst, where, n_beyond, n_rows, start = -1.0, tuple[int, ...](), 0, 0, 0
    exact = output.exact
    axis = cut_axis(exact) if exact.dim() else 0
    for distance in output.distances(value):
        distance = distance.nan_to_num(math.inf, posinf=math.inf)
        beyond = distance > output.allowed
        n_beyond += int(beyond.sum())
        n_rows += int(beyond.any(-1).sum()) if beyond.dim() > 1 else exact.numel()
        if float(distance.max()) > worst:
            worst = float(distance.max())
            index = [int(i) for i in torch.unravel_index(distance.argmax(), distance.shape)]
            if index:
                index[axis] += start
            where = tuple(index)
        start += distance.shape[axis] if distance.dim() else 0
    n_columns = exact.shape[-1] if exact.dim() > 1 else 1
    return where, n_beyond / exact.numel(), n_rows * n_columns / exact.numel()


def are_near(values: list[torch.Tensor], eager: list[torch.Tensor], usual: Expected) -> bool:
    """Whether outputs agree with eager's on the same inputs, within the usual allowances: the
    largest error, the share of large errors, and the typical error."""
    rows = zip(as_real(values), as_real(eager), usual.outputs, strict=True)
    return all(_is_near(value, other, one, usual.reference_error) for value, other, one in rows)


def _is_near(
    value: torch.Tensor, other: torch.Tensor, usual: Output, reference_error: float
) -> bool:
    """Whether one output agrees with eager's."""
    if not other.is_floating_point():
        return torch.equal(as_bytes(value), as_bytes(other))
    finite = finite_in_both(other, other)
    if finite is not None and not same_but_where(finite, value, other):
        return False
    like = replace(usual, exact=other, scale=row_scale(other), finite=finite)
    if like.error_of(value) > usual.allowed + reference_error:
        return False
    if usual.allowed > usual.sound:  # eager's own may be off as well
        few = max(LOOSE_SHARE, usual.beyond)
        if like.share_beyond(value, 2 * usual.sound) > few:
            return False
    if not usual.typical:
        return True
    error = typical_error(value, other.float(), finite, like.scale.float())
    return error <= TYPICAL_FACTOR * usual.typical
