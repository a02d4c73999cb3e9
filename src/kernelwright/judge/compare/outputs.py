"""Numerics: a candidate's outputs against float64, with the reference's own error as yardstick.

Whole numbers are compared exactly (``whole``). Of others errors are those of ``measures``. There
are five tests, in this order:

1. The largest error is at most FACTOR times the reference's own on the same inputs, or what any
   sound order of summation may be off, or CONDITION_FACTOR times as far as float64 moves when
   inputs and weights move by one unit in the last place, so that no one is blamed for an
   ill-conditioned task.
2. Few numbers may be farther off, where they jump as inputs move: by JUMPED times as much.
3. Numbers that the reference only moves are off by MOVED_ULP at most.
4. At most SPREAD times the share of numbers that the reference has beyond any sound sum are there.
5. The typical error of narrow results is at most TYPICAL_FACTOR times the reference's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.compare.growth import MOVED, ULP32, floor_error
from kernelwright.judge.compare.measures import (
    as_real,
    distances,
    error_of,
    finite_in_both,
    largest_size,
    row_scale,
    same,
    share_beyond,
    share_of,
    typical_error,
)
from kernelwright.judge.compare.pieces import cut_axis, pieces
from kernelwright.judge.compare.whole import as_bytes, compare_exactly
from kernelwright.judge.refusal import WrongValues

FACTOR = 4.0
"""How much worse than the reference's own error a candidate may be: a choice, and the zoo's
honest kernels and injected faults are its test."""
CONDITION_FACTOR = 16.0
"""Likewise beside the effect of moving the inputs by one ulp: every step of a sound computation
rounds, not its inputs alone. For sums it is their growth, where that is larger. Where the reference
rounds to types narrower than float32 it is FACTOR: the library adds those in float32."""
ROUNDING = {"tf32": 2.0**-11, "bf16": 2.0**-8, "fp16": 2.0**-11}
"""The largest relative error of rounding to nearest."""
USELESS = 0.25
"""Error, relative to the row's largest value, beyond which nothing can be said of a result."""
LOOSE_SHARE = 0.005
"""Share of an output's numbers that may depend on rounding, on the task's own inputs. Where more
integers do, their values are a convention that a candidate has to keep."""
SPREAD = 2.0
"""How much larger the share of ill-conditioned numbers may be than the reference's own: the
diagonal of a matrix of distances is no excuse for errors elsewhere."""
LOOSE_ROWS = 1 / 8
"""Share of an output's rows that may jump with rounding: what is rounded to a step and then goes
through a product moves a whole row."""
JUMPED = 1.5
"""How much farther a number may be off than it was seen to jump when inputs moved by last
digits."""

MOVED_ULP = 2.0
"""Tolerance, in ulp, for outputs that are copies of input values."""

NARROW_ERROR = 2.0**-14
"""Error, relative to the row's largest value, that shows a narrow type inside: rounding a result to
float16 is off by up to 2^-12."""
TYPICAL, FEWEST_TYPICAL = 0.4, 256
"""Root mean square error of rounding a result once, in units of the type's roundoff; and the fewest
numbers of which a typical error is taken."""
FEW_OFF = 1 / 32
"""Typical error, relative to the largest, up to which only few numbers of an output are off.
Products rounded to bfloat16 come to an eighth."""
TYPICAL_FACTOR = 3.0
"""How much larger than the reference's a typical error may be. Rounding at every step of a softmax
or a norm was 2.3 times the library's own, a product of 8 bits 4.0, an approximated GELU 6.2 (torch
2.13, a CPU)."""


@dataclass(frozen=True)
class Expected:
    """What one call should return, and how far from it an answer may lie."""

    exact: list[torch.Tensor]
    """float64 (integers and booleans as they are), one per output."""
    own: list[torch.Tensor]
    """The reference's result in its own precision; empty where only ``exact`` is compared with."""
    scales: list[torch.Tensor]
    """The scale that each output's errors are measured on, as ``row_scale`` gives it."""
    finite: list[torch.Tensor | None]
    """Where an output is finite in both; None where that is everywhere."""
    allowed: list[float]
    """The allowed error of each output."""
    reference_error: float
    errors: list[float] = field(default_factory=list)
    """The reference's own error in each output; ``reference_error`` is the largest."""
    sound: list[float] = field(default_factory=list)
    """The error of each output that any sound implementation may have everywhere."""
    beyond: list[float] = field(default_factory=list)
    """The share of each output's numbers that may exceed ``sound``."""
    typical: list[float] = field(default_factory=list)
    """The reference's root mean square error in outputs that are, or were before, narrower than
    float32; zero for others, and empty where it says nothing."""
    is_conditioned: bool = False
    """Whether ``allowed`` and ``beyond`` take the conditioning of the task into account."""
    is_explained: bool = False
    """Whether they take into account how the reference's operators round."""
    loose: list[torch.Tensor | None] = field(default_factory=list)
    """Where an integer changes when inputs move by their last digits; empty until asked for."""
    jumps: list[torch.Tensor | None] = field(default_factory=list)
    """How far a number moves then, relative to its row's scale; empty until asked for."""
    loose_share: float = 1.0
    """Share of the elements that may differ there."""
    moved: list[bool] = field(default_factory=list)
    """Whether each output only copies input values, which must then be exact."""
    warnings: tuple[Warned, ...] = field(default=())


def expect(
    own: list[torch.Tensor],
    exact: list[torch.Tensor],
    growth_ulp: list[float],
    *,
    by_row: bool = True,
    narrow: torch.dtype = torch.float32,
) -> Expected:
    """What to expect where the reference returns ``own`` and float64 gives ``exact``; ``narrow``:
    the narrowest type of its inputs and weights.

    Without ``by_row`` errors are measured on an output's largest value: where single numbers
    outweigh all others, algorithms that are stable by norm only (Strassen's) carry them elsewhere.

    Units:
        ``growth_ulp``: by how many ulp each output's sums may be off, see ``summation_growth``.
    """
    own, exact = as_real(own), as_real(exact)
    scale = row_scale if by_row else largest_size
    scales = [scale(e) if e.is_floating_point() else e.new_ones(()) for e in exact]
    finite = [finite_in_both(o, e) for o, e in zip(own, exact, strict=True)]
    errors = [
        error_of(o, e, f, s) if e.is_floating_point() else 0.0
        for o, e, f, s in zip(own, exact, finite, scales, strict=True)
    ]
    moved = [
        e.is_floating_point() and growth == MOVED and not error
        for e, growth, error in zip(exact, growth_ulp, errors, strict=True)
    ]
    growth_ulp = [g if m else max(g, 0.0) for g, m in zip(growth_ulp, moved, strict=True)]
    sound = [
        floor_error(o.dtype, growth) if e.is_floating_point() else 0.0
        for o, e, growth in zip(own, exact, growth_ulp, strict=True)
    ]
    allowed = [max(FACTOR * error, least) for error, least in zip(errors, sound, strict=True)]
    beyond = [
        SPREAD * share_beyond(*one, least / FACTOR) if most > least else 0.0
        for *one, most, least in zip(own, exact, finite, scales, allowed, sound, strict=True)
    ]
    is_narrow = torch.finfo(narrow).bits < 32
    typical = [
        _typical(*one, widened_error=error if is_narrow and error > NARROW_ERROR else 0.0)
        for *one, error in zip(own, exact, finite, scales, errors, strict=True)
    ]
    own = [
        o.new_empty(0) if e.is_floating_point() and f is None else o
        for o, e, f in zip(own, exact, finite, strict=True)
    ]
    error = max(errors, default=0.0)
    of_all = (allowed, error, errors, sound, beyond, typical)
    return Expected(exact, own, scales, finite, *of_all, moved=moved)


def _typical(
    own: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None,
    scale: torch.Tensor,
    *,
    widened_error: float,
) -> float:
    """The reference's typical error, or that of rounding a result to its narrow type if that is
    larger.

    ``widened_error`` is the largest error of a result that was widened after it was rounded. Zero
    for other results, for few numbers, and where few of the widened numbers are off.
    """
    is_narrow = own.element_size() < 4
    is_asked = exact.is_floating_point() and (is_narrow or widened_error > 0)
    if not is_asked or own.numel() < FEWEST_TYPICAL:
        return 0.0
    typical = typical_error(own, exact, finite, scale)
    if not is_narrow:
        return typical if typical > FEW_OFF * widened_error else 0.0
    size = typical_error(exact.new_zeros(()).expand_as(exact), exact, finite, scale)
    return max(typical, TYPICAL * torch.finfo(own.dtype).eps / 2 * size)


@dataclass(frozen=True)
class Agreement:
    """How well outputs agree: the error that uses most of its allowance, and warnings."""

    error: float = 0.0
    allowed: float = 0.0
    warnings: tuple[Warned, ...] = ()

    @property
    def share(self) -> float:
        """The share of the allowance that the error uses."""
        return self.error / self.allowed if self.allowed else 0.0


def compare(outputs: list[torch.Tensor], expected: Expected) -> Agreement:
    """How well ``outputs`` agree with what was expected.

    Raises:
        WrongValues: an output is farther from float64 than allowed; says where and by how much.
    """
    worst, warnings = Agreement(), []
    for number, (value, exact) in enumerate(zip(as_real(outputs), expected.exact, strict=True)):
        own, allowed = expected.own[number], expected.allowed[number]
        mask, scale = expected.finite[number], expected.scales[number]
        name = "the output" if len(outputs) == 1 else f"output {number}"
        if not exact.is_floating_point():
            loose = expected.loose[number] if expected.loose else None
            warnings += compare_exactly(name, value, own, exact, loose, expected.loose_share)
            continue
        if mask is not None and not bool(same(value, own)[~mask].all()):
            told = f"{name} has NaN or infinity where the reference differs"
            warnings.append(Warned(WarningCode.NOT_FINITE, told))
        error = error_of(value, exact, mask, scale)
        if math.isinf(error) and math.isinf(allowed):
            told = f"{name} is not finite where the reference is"
            warnings.append(Warned(WarningCode.NOT_FINITE, told))
            continue
        if error > allowed:
            where, share, of_rows = _worst(value, exact, mask, scale, allowed)
            is_little = share <= expected.loose_share or of_rows <= LOOSE_ROWS
            if is_little and expected.jumps and _are_jumps(value, expected, number):
                told = f"{name}: numbers differ where the inputs' last digits decide"
                warnings.append(Warned(WarningCode.LAST_DIGITS, told))
                _refuse_computed(name, value, expected, number)
                _refuse_typical(name, value, expected, number)
                continue
            told = _told(value[where].item(), exact[where].item(), list(where))
            if math.isinf(error):
                raise WrongValues(f"{name} is not finite where the reference is, {told}")
            raise WrongValues(
                f"{name} is off by {error:.3g} of its row's largest value, {allowed:.3g} is "
                f"allowed; worst {told}; {share:.2%} of the elements are beyond",
                is_little=is_little,
                error=error,
            )
        _refuse_computed(name, value, expected, number)
        _refuse_spread(name, value, expected, number, error)
        _refuse_typical(name, value, expected, number)
        worst = max(worst, Agreement(error, allowed), key=lambda one: one.share)
    return replace(worst, warnings=tuple(warnings))


def _told(found: float, wanted: float, where: list[int]) -> str:
    """The two numbers and their place, in enough digits to tell them apart."""
    digits = 6 if f"{found:.6g}" != f"{wanted:.6g}" else 17
    return f"at {where}: {found:.{digits}g} instead of {wanted:.{digits}g}"


def _refuse_computed(name: str, value: torch.Tensor, expected: Expected, number: int) -> None:
    """Refuse inexact numbers in outputs that only copy input values."""
    if not (expected.moved and expected.moved[number]):
        return
    told = expected.exact[number], expected.finite[number], expected.scales[number]
    share = _computed_share(value, *told)
    if share:
        raise WrongValues(
            f"{name} has other numbers than its inputs', which the reference only moves, in "
            f"{share:.2%} of its elements; {MOVED_ULP:g} units in the last place are allowed"
        )


def _computed_share(
    value: torch.Tensor, exact: torch.Tensor, finite: torch.Tensor | None, scale: torch.Tensor
) -> float:
    """The share of the numbers that are off by more than MOVED_ULP of their own ulp and of their
    row's in float32: flushing the smallest numbers to zero is still copying."""
    ulp = torch.finfo(value.dtype).eps / 2
    far = distances(value, exact, finite, scale)
    own = (e.abs().div_(s).nan_to_num_() for e, s in pieces(exact, scale.expand(exact.shape)))
    beyond = (d.sub_(o, alpha=MOVED_ULP * ulp) for d, o in zip(far, own, strict=True))
    return share_of(beyond, MOVED_ULP * min(ulp, ULP32))


def _refuse_spread(
    name: str, value: torch.Tensor, expected: Expected, number: int, error: float
) -> None:
    """Refuse errors of ill-conditioned numbers in more numbers than are ill-conditioned."""
    sound, most = expected.sound[number], max(LOOSE_SHARE, expected.beyond[number])
    if error <= sound or most >= 1.0:
        return
    told = expected.exact[number], expected.finite[number], expected.scales[number]
    share = share_beyond(value, *told, sound)
    if share > most:
        raise WrongValues(
            f"{name} is off by more than {sound:.3g} of its row's largest value in {share:.2%} of "
            f"its elements, and only {most:.2%} of them are ill-conditioned",
            error=error,
        )


def _refuse_typical(name: str, value: torch.Tensor, expected: Expected, number: int) -> None:
    """Refuse results that are off everywhere by as much as rounding to a narrow type is now and
    then. Numbers beyond the allowed error have jumped, and do not count."""
    usual = expected.typical[number] if expected.typical else 0.0
    if not usual:
        return
    told = expected.exact[number], expected.finite[number], expected.scales[number]
    error = typical_error(value, *told, expected.allowed[number])
    if error > TYPICAL_FACTOR * usual:
        raise WrongValues(
            f"{name} is typically off by {error:.3g} of its row's largest value, "
            f"{error / usual:.1f} times as much as the reference or its last rounding; "
            f"{TYPICAL_FACTOR:g} times is allowed"
        )


def _are_jumps(value: torch.Tensor, expected: Expected, number: int) -> bool:
    """Whether the numbers beyond the allowed error are off by no more than they jump."""
    exact, mask, scale = expected.exact[number], expected.finite[number], expected.scales[number]
    rows = zip(distances(value, exact, mask, scale), pieces(expected.jumps[number]), strict=True)
    return all(bool((d <= expected.allowed[number] + JUMPED * jump).all()) for d, (jump,) in rows)


def _worst(
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None,
    scale: torch.Tensor,
    allowed: float,
) -> tuple[tuple[int, ...], float, float]:
    """Where the largest error is, the share of the elements beyond the allowed error, and the share
    of the rows that hold them (1 where there are no rows)."""
    worst, where, n_beyond, n_rows, start = -1.0, (), 0, 0, 0
    for distance in distances(value, exact, finite, scale):
        distance = distance.nan_to_num(math.inf, posinf=math.inf)
        beyond = distance > allowed
        n_beyond += int(beyond.sum())
        n_rows += int(beyond.any(-1).sum()) if beyond.dim() > 1 else exact.numel()
        if float(distance.max()) > worst:
            worst = float(distance.max())
            index = [int(i) for i in torch.unravel_index(distance.argmax(), distance.shape)]
            if index:
                index[cut_axis(exact)] += start
            where = tuple(index)
        start += distance.shape[cut_axis(exact)] if distance.dim() else 0
    n_columns = exact.shape[-1] if exact.dim() > 1 else 1
    return where, n_beyond / exact.numel(), n_rows * n_columns / exact.numel()


def are_near(outputs: list[torch.Tensor], eager: list[torch.Tensor], usual: Expected) -> bool:
    """Whether outputs agree with eager's on the same inputs, within the usual allowances: the
    largest error, the share of large errors, and the typical error."""
    pairs = zip(as_real(outputs), as_real(eager), strict=True)
    return all(_is_near(value, other, usual, number) for number, (value, other) in enumerate(pairs))


def _is_near(value: torch.Tensor, other: torch.Tensor, usual: Expected, number: int) -> bool:
    """Whether one output agrees with eager's."""
    if not other.is_floating_point():
        return torch.equal(as_bytes(value), as_bytes(other))
    mask = finite_in_both(other, other)
    if mask is not None and not bool(same(value, other)[~mask].all()):
        return False
    scale, allowed = row_scale(other), usual.allowed[number]
    if error_of(value, other, mask, scale) > allowed + usual.reference_error:
        return False
    if usual.moved and usual.moved[number] and _computed_share(value, other, mask, scale):
        return False
    sound = usual.sound[number] if usual.sound else allowed
    if allowed > sound:  # eager's own may be off as well
        few = max(LOOSE_SHARE, usual.beyond[number])
        if share_beyond(value, other, mask, scale, 2 * sound) > few:
            return False
    typical = usual.typical[number] if usual.typical else 0.0
    if not typical:
        return True
    return typical_error(value, other.float(), mask, scale.float()) <= TYPICAL_FACTOR * typical
