"""Numerics: a candidate's outputs against float64, with the reference's own error as yardstick.

The error of an output x against the float64 result e is the largest |x - e| / s, where s is the
largest |e| in the same row (the last axis): small rows cannot hide behind large ones. Rows that
are small by chance are measured as if they were a quarter of the median row. A candidate may be
FACTOR times as far from float64 as the reference itself on the same inputs, or as far as float64
moves when the inputs are changed by one unit in the last place (so that no one is blamed for an
ill-conditioned task), or as far as any sound order of summation may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from kernelwright.judge.growth import floor_error
from kernelwright.judge.pieces import cut_axis, pieces
from kernelwright.judge.refusal import WrongValues
from kernelwright.judge.whole import compare_exactly

FACTOR = 4.0
"""How much worse than the reference's own error a candidate may be: a choice, and the zoo's
honest kernels and injected faults are its test."""
CONDITION_FACTOR = 16.0
"""Likewise beside the effect of moving the inputs by one ulp: every step of a sound computation
rounds, not its inputs alone. For sums it is their growth, where that is larger. Where the reference
rounds to types narrower than float32 it is FACTOR: the library adds those in float32."""
SMALL_ROW = 0.25
"""Of the median row's largest value: the least scale that a row is measured on. Without it the
error is a ratio with a heavy tail (a ReLU leaves rows of any smallness), and honest kernels fail
by bad luck; rows of zeros in place of values are still seen down to 1e-6 of the median row."""
ROW_FLOOR = 1e-6
"""Of the largest value, likewise: for outputs whose rows have nothing in common."""
ROUNDING = {"tf32": 2.0**-11, "bf16": 2.0**-8, "fp16": 2.0**-11}
"""The largest relative error of rounding to nearest."""
ORDER_NOISE = 1e-4
"""Of the largest value, by which a reference's two runs may differ: atomics add in any order, so
grouped transposed convolutions of cuDNN leave other numbers where sums nearly cancel."""
USELESS = 0.25
"""Of a row's largest value: inputs for which a reduced precision explains more say nothing."""
LOOSE_SHARE = 0.005
"""Of an output's numbers that may hang on rounding on the task's own inputs: where more whole ones
do, what they are is a convention that a candidate has to keep."""
SPREAD = 2.0
"""Times the share of an output's numbers that the reference has off by more than any sound sum is:
the diagonal of a matrix of distances lets nobody be as far off elsewhere."""
LOOSE_ROWS = 1 / 8
"""Of an output's rows, likewise, as far as numbers were seen to jump: what is rounded to a step and
goes through a product moves a whole row with it."""
JUMPED = 1.5
"""Times what a number was seen to jump when inputs moved in their last digits."""


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
    sound: list[float] = field(default_factory=list)
    """The error of each output that any sound implementation may have everywhere."""
    beyond: list[float] = field(default_factory=list)
    """The share of its numbers that may be beyond that."""
    is_conditioned: bool = False
    """Whether ``allowed`` takes the conditioning of the task into account."""
    loose: list[torch.Tensor | None] = field(default_factory=list)
    """Where a whole number changes with the inputs' roundings; empty until it is asked for."""
    jumps: list[torch.Tensor | None] = field(default_factory=list)
    """By how much of its row's scale a number moves with the inputs' roundings, likewise."""
    loose_share: float = 1.0
    """Of the elements that may differ there."""
    warnings: tuple[str, ...] = field(default=())


def expect(
    own: list[torch.Tensor],
    exact: list[torch.Tensor],
    growth_ulp: list[float],
    *,
    by_row: bool = True,
) -> Expected:
    """What to expect where the reference returns ``own`` and float64 gives ``exact``.

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
    sound = [
        floor_error(o.dtype, growth) if e.is_floating_point() else 0.0
        for o, e, growth in zip(own, exact, growth_ulp, strict=True)
    ]
    allowed = [max(FACTOR * error, least) for error, least in zip(errors, sound, strict=True)]
    beyond = [
        SPREAD * share_beyond(*one, least / FACTOR) if most > least else 0.0
        for *one, most, least in zip(own, exact, finite, scales, allowed, sound, strict=True)
    ]
    own = [
        o.new_empty(0) if e.is_floating_point() and f is None else o
        for o, e, f in zip(own, exact, finite, strict=True)
    ]
    return Expected(exact, own, scales, finite, allowed, max(errors, default=0.0), sound, beyond)


def as_real(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Complex tensors as rows of their real and imaginary parts; others as they are."""
    return [
        torch.view_as_real(t.resolve_conj()).flatten(-2) if t.is_complex() else t for t in tensors
    ]


def row_scale(exact: torch.Tensor) -> torch.Tensor:
    """The scale that errors of ``exact`` are measured on.

    Shapes:
        As ``exact``, with a last axis of 1; a scalar where there are no rows.
    """
    if exact.numel() == 0:
        return exact.new_ones(())
    rows = _finite_sizes(exact, by_row=exact.dim() > 1 and exact.shape[-1] > 1)
    largest = rows.max()
    least = torch.maximum(_typical(rows) * SMALL_ROW, largest * ROW_FLOOR)
    # An output that is all zeros has no scale: its errors are absolute.
    return torch.maximum(rows, torch.where(largest > 0, least, torch.ones_like(least)))


def largest_size(exact: torch.Tensor) -> torch.Tensor:
    """The largest finite size of all; one where all are zero or there are none."""
    if exact.numel() == 0:
        return exact.new_ones(())
    largest = _finite_sizes(exact, by_row=False)
    return torch.where(largest > 0, largest, torch.ones_like(largest))


def _finite_sizes(exact: torch.Tensor, *, by_row: bool) -> torch.Tensor:
    """The largest size in each row or of all, of what is finite."""
    found = _largest_sizes(exact, by_row=by_row)
    if bool(found.max().isfinite()):
        return found
    zeros = partial(torch.nan_to_num, nan=0.0, posinf=0.0, neginf=0.0)
    return _largest_sizes(exact, by_row=by_row, change=zeros)


def _largest_sizes(
    exact: torch.Tensor,
    *,
    by_row: bool,
    change: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> torch.Tensor:
    found = [sizes(change(p) if change else p, by_row=by_row) for (p,) in pieces(exact)]
    return torch.cat(found, cut_axis(exact)) if by_row else torch.stack(found).max()


def sizes(t: torch.Tensor, *, by_row: bool, in_place: bool = False) -> torch.Tensor:
    """The largest size in each row, with a last axis of 1, or of all; NaN where there is one.

    ``in_place``: ``t`` is nobody else's, and is overwritten where that saves memory.
    """
    if t.is_cuda:  # memory is read once, and nothing is written
        low, high = torch.aminmax(t, dim=-1, keepdim=True) if by_row else torch.aminmax(t)
        return torch.maximum(-low, high)
    t = t.abs_() if in_place else t.abs()
    return t.amax(-1, keepdim=True) if by_row else t.max()


def _typical(rows: torch.Tensor) -> torch.Tensor:
    """The median of those above zero; zero where there are none."""
    if not rows.is_cuda:
        present = rows[rows > 0]
        return present.median() if present.numel() else rows.max()
    # A GPU's median runs on one multiprocessor, and to pick those above zero waits for the count.
    n_zeros = (rows == 0).sum()
    middle = n_zeros + (rows.numel() - n_zeros - 1).div(2, rounding_mode="floor")
    return rows.flatten().sort().values.index_select(0, middle.view(1)).view(())


def distances(
    value: torch.Tensor, exact: torch.Tensor, finite: torch.Tensor | None, scale: torch.Tensor
) -> Iterator[torch.Tensor]:
    """The row-scaled distances, piece by piece; zero where it is not finite in both."""
    masks = () if finite is None else (finite,)
    for v, e, s, *mask in pieces(value, exact, scale.expand(exact.shape), *masks):
        distance = (v.to(e.dtype) - e).abs_().div_(s)
        yield torch.where(mask[0], distance, 0.0) if mask else distance


def error_of(
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
) -> float:
    """The largest row-scaled error; infinite where ``value`` is not finite and ``exact`` is."""
    if exact.numel() == 0:
        return 0.0
    scale = row_scale(exact) if scale is None else scale
    if finite is not None:
        worst = [d.max() for d in distances(value, exact, finite, scale)]
    else:  # one division for a row
        by_row = scale.dim() > 0
        worst = [
            (sizes(v - e, by_row=by_row, in_place=True) / (s[..., :1] if by_row else scale)).max()
            for v, e, s in pieces(value, exact, scale.expand(exact.shape))
        ]
    return float(torch.stack(worst).max().nan_to_num(math.inf))


def share_beyond(
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None,
    scale: torch.Tensor,
    limit: float,
) -> float:
    """The share of the numbers whose row-scaled error is larger than ``limit``."""
    n_beyond = sum(int((d > limit).sum()) for d in distances(value, exact, finite, scale))
    return n_beyond / max(1, exact.numel())


def all_finite(tensors: list[torch.Tensor]) -> bool:
    """Whether every number of every tensor is finite."""
    # A sum passes NaN and infinity on, in one quick pass; it may also overflow by itself.
    return all(bool(t.sum().isfinite()) or bool(t.isfinite().all()) for t in tensors)


def finite_in_both(own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor | None:
    """Where both are finite; None where that is everywhere."""
    if bool(own.sum().isfinite() & exact.sum().isfinite()):
        return None
    if all(bool(o.isfinite().all() & e.isfinite().all()) for o, e in pieces(own, exact)):
        return None
    return exact.isfinite() & own.isfinite()


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
    for number, (value, exact) in enumerate(zip(as_real(outputs), expected.exact, strict=True)):
        own, allowed = expected.own[number], expected.allowed[number]
        mask, scale = expected.finite[number], expected.scales[number]
        name = "the output" if len(outputs) == 1 else f"output {number}"
        if not exact.is_floating_point():
            loose = expected.loose[number] if expected.loose else None
            warnings += compare_exactly(name, value, own, exact, loose, expected.loose_share)
            continue
        if mask is not None and not bool(same(value, own)[~mask].all()):
            warnings.append(f"{name} has NaN or infinity where the reference differs")
        error = error_of(value, exact, mask, scale)
        if error > allowed:
            where, share, of_rows = _worst(value, exact, mask, scale, allowed)
            is_little = share <= expected.loose_share or of_rows <= LOOSE_ROWS
            if is_little and expected.jumps and _are_jumps(value, expected, number):
                warnings.append(f"{name}: numbers differ where the inputs' last digits decide")
                continue
            found, wanted = value[where].item(), exact[where].item()
            digits = 6 if f"{found:.6g}" != f"{wanted:.6g}" else 17
            raise WrongValues(
                f"{name} is off by {error:.3g} of its row's largest value, {allowed:.3g} is "
                f"allowed; worst at {list(where)}: {found:.{digits}g} instead of "
                f"{wanted:.{digits}g}; {share:.2%} of the elements are beyond",
                is_little=is_little,
            )
        _refuse_spread(name, value, expected, number, error)
        worst = max(worst, Agreement(error, allowed), key=lambda one: one.share)
    return replace(worst, warnings=tuple(warnings))


def _refuse_spread(
    name: str, value: torch.Tensor, expected: Expected, number: int, error: float
) -> None:
    """Refuse errors that only few numbers may have in more of them."""
    sound, most = expected.sound[number], max(LOOSE_SHARE, expected.beyond[number])
    if error <= sound or most >= 1.0:
        return
    told = expected.exact[number], expected.finite[number], expected.scales[number]
    share = share_beyond(value, *told, sound)
    if share > most:
        raise WrongValues(
            f"{name} is off by more than {sound:.3g} of its row's largest value in {share:.2%} of "
            f"its elements, and only {most:.2%} of them are ill-conditioned"
        )


def _are_jumps(value: torch.Tensor, expected: Expected, number: int) -> bool:
    """Whether the numbers that are beyond what is allowed are off by no more than they jump."""
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
    """Where the largest error is, and the shares of the elements that are beyond the allowed and
    of the rows that hold them: all of them where there are no rows."""
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
    """Whether outputs agree with eager's on the same inputs, as well as errors usually allow."""
    for value, other, allowed in zip(as_real(outputs), as_real(eager), usual.allowed, strict=True):
        if not other.is_floating_point():
            if not torch.equal(value, other):
                return False
            continue
        mask = finite_in_both(other, other)
        if mask is not None and not bool(same(value, other)[~mask].all()):
            return False
        error = error_of(value, other, mask)
        if error > allowed + usual.reference_error:
            return False
    return True


def furthest(one: list[torch.Tensor], other: list[torch.Tensor]) -> float:
    """The largest distance between two results of one kernel, over the scale of its row."""
    pairs = zip(as_real(one), as_real(other), strict=True)
    pairs = [pair for pair in pairs if pair[0].is_floating_point()]
    return max((error_of(b, a, finite_in_both(a, b)) for a, b in pairs), default=0.0)


def are_alike(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether two results are the same but for rounding; random ones are not."""
    one, two = as_real([one, two])
    noise = ORDER_NOISE * float(largest_size(one)) if one.is_floating_point() else 0.0
    near = partial(torch.allclose, rtol=1e-2, atol=noise, equal_nan=True)
    return all(near(a.double(), b.double()) for a, b in pieces(one, two))


def same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Where two are equal, NaN to NaN."""
    return (one == other) | (one.isnan() & other.isnan())


def differ(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether any element differs; NaN is the same as NaN."""
    return any(
        not torch.equal(a, b)  # where there are NaN too
        and not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
        for a, b in pieces(*as_real([one, two]))
    )
