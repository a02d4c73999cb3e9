"""Inputs moved in their last digits, to see what of a task's results depends on rounding alone."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare.expected import (
    CONDITION_FACTOR,
    FACTOR,
    NARROW_ERROR,
    Expected,
    Output,
)
from kernelwright.judge.compare.float8 import widened
from kernelwright.judge.compare.measures import as_real, is_whole
from kernelwright.judge.compare.pieces import pieces
from kernelwright.judge.perturb.patterns import is_mask
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import flat_source, leaves, map_tensors

LOOSE_ULP = 16.0
"""Ulp by which inputs move to show which integers depend on rounding; as CONDITION_FACTOR."""
N_RANDOM = 12
"""Random perturbations besides all up and all down: which of two sums is larger shows only when
terms move differently. Each shows half of the numbers on a border: with four of them a quantiser by
reciprocals was refused in one of twenty calls that had such a number."""
PIECE_SEEDS = 1_000_003
"""The distance between the seeds of a large tensor's pieces."""
N_SHAKEN = 4
"""Random perturbations that show whether a matrix may no longer be definite."""
TIED_SHARE = 1 / 32
"""Share of a row's integers that changed when zeros moved, from which the rest of the row counts as
depending on ties too."""
SINGLE_ERROR = 2.0**-30
"""Error, relative to the row's largest value, below which a result was computed in float64:
rounding to float32 is off by up to 2^-25."""
FEWEST_TOLD = 64
"""Of so many integers that depend on a narrow type's last digits, at least one differs if the
reference rounds to that type, and tens of them as a rule."""
N_LOOKED_AT = 1 << 10
"""Numbers of a tensor that are looked at first, to see whether all are integers."""
N_SIZED = 1 << 16
"""Numbers of a tensor from which their usual size is taken."""
LEAST_TIED = 0.01
"""Movement, relative to the row's largest value, that shows that another element was chosen."""
Run = Callable[[list[Any]], list[torch.Tensor] | None]
"""The reference's results; None where it fails."""
Change = Callable[[torch.Tensor], torch.Tensor]
WIDE = {torch.complex32: torch.complex128, torch.complex64: torch.complex128}


def widen(t: torch.Tensor) -> torch.Tensor:
    """Return the tensor in float64 or complex128; integers and booleans unchanged."""
    return t.double() if t.is_floating_point() else t.to(WIDE.get(t.dtype, t.dtype))


def by_rounding(
    run: Callable[[list[Any], Change], list[torch.Tensor] | None],
    arguments: list[Any],
    expected: Expected,
    growths: list[float],
    *,
    times: float = 1.0,
) -> tuple[list[torch.Tensor] | None, list[float]]:
    """Return the float64 results, or None, of a ``run`` whose arguments and weights are moved by
    one ulp, or ``times`` that; and for each output how many times farther than one ulp moves it it
    may be off.

    Each output has an ulp of its own: beside one that is rounded to bfloat16 another may be
    computed in float32. See ``in_last_digits``.
    """
    types = computed_in(arguments, expected)
    runs = {one: run(*in_last_digits(arguments, one, times)) for one in dict.fromkeys(types)}
    pairs = zip(types, growths, strict=True)
    factors = [max(CONDITION_FACTOR, growth) if one else FACTOR for one, growth in pairs]
    found = {one: results for one, results in runs.items() if results is not None}
    if len(found) < len(runs):
        return None, factors
    return [found[one][number] for number, one in enumerate(types)], factors


def computed_in(arguments: list[Any], expected: Expected) -> list[torch.dtype | None]:
    """Say for each output the type that the reference widens narrower inputs to at once, float32 or
    float64; None where it rounds to a narrow type, as its own error shows."""
    has_narrow = are_narrow(arguments)

    def found(own: torch.Tensor, error: float) -> torch.dtype | None:
        if has_narrow and error > NARROW_ERROR:
            return None
        is_double = own.dtype == torch.float64 and error <= SINGLE_ERROR
        return torch.float64 if is_double else torch.float32

    return [found(one.own, one.error) for one in expected.outputs]


def in_last_digits(
    arguments: list[Any], least: torch.dtype | None, times: float = 1.0
) -> tuple[list[Any], Change]:
    """Return ``arguments`` in float64, every element moved by about one ulp of the type that the
    reference computes in, or ``times`` that; and the same change for weights.

    That type is the tensor's own, or ``least`` if it is narrower: kernels round to a narrow type a
    few times, and add up in float32. Masks and labels are exact, and stay.
    """
    exact = _are_exact(arguments, whole_too=True)
    moved = _changed(arguments, exact, lambda t: _moved(_in_at_least(least, t), 1.0, 1, times))

    def moved_weight(t: torch.Tensor) -> torch.Tensor:
        is_exact = is_mask(t) or _is_whole_valued(t)
        return widen(t) if is_exact else _moved(_in_at_least(least, t), 1.0, 2, times)

    return moved, moved_weight


def _are_exact(arguments: list[Any], *, whole_too: bool) -> list[bool]:
    """Which tensors hold exact numbers: masks, and integers in floating point beside tensors of
    other numbers. A task compares them with numbers, and moved they would equal none."""
    tensors = leaves(arguments)
    masks = [is_mask(flat_source(t)) for t in tensors]
    exact = [m or (whole_too and _is_whole_valued(t)) for m, t in zip(masks, tensors, strict=True)]
    others = [t for t, one in zip(tensors, exact, strict=True) if not (one or is_whole(t))]
    return exact if others else masks


def _is_whole_valued(t: torch.Tensor) -> bool:
    """Whether all floating-point numbers are integers; the first tell for nearly all tensors."""
    if not t.is_floating_point() or t.numel() == 0:
        return False
    return all(bool((x == x.round()).all()) for x in (t.flatten()[:N_LOOKED_AT], t))


def are_narrow(arguments: list[Any]) -> bool:
    """Whether some arguments have a type narrower than float32."""
    return any(t.is_floating_point() and t.element_size() < 4 for t in leaves(arguments))


def _in_at_least(least: torch.dtype | None, t: torch.Tensor) -> torch.Tensor:
    if least is None or is_whole(t):
        return t
    t = widened(t)  # torch promotes no float8
    return t.to(torch.promote_types(t.dtype, least))


def nudges(arguments: list[Any], *, zeros_too: bool) -> Iterator[list[Any]]:
    """Yield ``arguments`` in float64, moved by LOOSE_ULP in several ways, except exact tensors.

    With ``zeros_too``, for inputs beyond the task's own, zeros move as numbers of the usual size
    do, and integers move too: they may tie there."""
    exact = _are_exact(arguments, whole_too=not zeros_too)
    for size_ulp in (LOOSE_ULP, -LOOSE_ULP):
        yield _changed(arguments, exact, partial(_moved, size_ulp=size_ulp, seed=None))
    yield from _random(arguments, N_RANDOM, zeros_too=zeros_too)


def _random(arguments: list[Any], n: int, *, zeros_too: bool) -> Iterator[list[Any]]:
    exact = _are_exact(arguments, whole_too=not zeros_too)
    for number in range(n):
        seeds = itertools.count(number, N_RANDOM)  # each tensor its own: x / s must part ways
        at_random = partial(_moved_at_random, seeds=seeds, zeros_too=zeros_too)
        yield _changed(arguments, exact, at_random)


def _changed(arguments: list[Any], exact: list[bool], change: Change) -> list[Any]:
    """Return ``arguments`` with ``change`` made to what is not ``exact``."""
    stays = iter(exact)
    found: list[Any] = map_tensors(lambda t: widen(t) if next(stays) else change(t), arguments)
    return found


def _moved_at_random(t: torch.Tensor, seeds: Iterator[int], zeros_too: bool) -> torch.Tensor:
    seed = next(seeds)
    moved = _moved(t, LOOSE_ULP, seed)
    if zeros_too and t.is_floating_point() and t.numel():
        size = _usual_size(t)
        for number, (piece,) in enumerate(pieces(moved)):
            noise = _moved(size.expand(piece.shape), LOOSE_ULP, seed + PIECE_SEEDS * number)
            piece.add_(noise).sub_(size)
    return moved


def _usual_size(t: torch.Tensor) -> torch.Tensor:
    """The first quartile of the sizes of finite numbers other than zero: with a mean, outliers and
    the -1e9 of masks would move everything."""
    some = t.flatten()[:: max(1, t.numel() // N_SIZED)].abs()
    some = some[some.isfinite() & (some > 0)].float()
    return some.quantile(0.25).to(t.dtype) if some.numel() else t.new_zeros(())


def shaken(arguments: list[Any]) -> Iterator[list[Any]]:
    """Yield ``arguments`` in their own precision, moved by LOOSE_ULP in a few ways, zeros too."""
    for moved in _random(arguments, N_SHAKEN, zeros_too=True):
        yield _in_types_of(arguments, moved)


def moved_once(arguments: list[Any]) -> list[Any]:
    """Return ``arguments`` in their own precision, moved by at most LOOSE_ULP, except exact
    tensors."""
    return _in_types_of(arguments, next(_random(arguments, 1, zeros_too=False)))


def _in_types_of(arguments: list[Any], moved: list[Any]) -> list[Any]:
    """Return the ``moved`` float64 arguments in the arguments' own types."""
    dtypes = iter([t.dtype for t in leaves(arguments)])
    found: list[Any] = map_tensors(lambda t: t.to(next(dtypes)), moved)
    return found


def all_loose(expected: Expected) -> Expected:
    """Let rounding decide every integer result."""
    outputs = [
        one if one.is_float else replace(one, loose=torch.ones_like(one.exact, dtype=torch.bool))
        for one in expected.outputs
    ]
    return replace(expected, outputs=tuple(outputs))


def nudged(
    runs: Sequence[Run], arguments: list[Any], expected: Expected, *, zeros_too: bool
) -> Expected:
    """Note where integer results change, and how far each floating-point result moves relative to
    its row's scale, when ``arguments`` move by their last digits: a step of a quantiser, another
    choice.

    ``runs`` are the reference in float64 and in its own precision, whose noise may decide as well.
    With ``zeros_too`` another order of equal numbers counts as well: in a row of zeros a router may
    choose any expert. All integers of a row of which much changes are then loose, and an output may
    be off as far as it moved; where that exceeds the results themselves, nobody can say what is
    right.

    Integers that the reference computes in float32 from narrow inputs are asked about in float32's
    last digits instead.
    """
    found = _nudged(runs, arguments, expected, zeros_too=zeros_too)
    are_wide = [are_narrow(arguments) and _is_told(one) for one in found.outputs]
    if not any(are_wide):
        return found
    wide = map_tensors(partial(_in_at_least, torch.float32), arguments)
    closer = _nudged(runs, wide, expected, zeros_too=zeros_too)
    rows = zip(are_wide, closer.outputs, found.outputs, strict=True)
    return replace(found, outputs=tuple(near if is_wide else far for is_wide, near, far in rows))


def _is_told(one: Output) -> bool:
    """Whether so many integers depend on narrow digits, and so few differ from float64, that the
    reference did not round to a narrow type."""
    n_loose = 0 if one.loose is None else int(one.loose.sum())
    return n_loose >= FEWEST_TOLD and int((one.own != one.exact).sum()) * FEWEST_TOLD < n_loose


def _nudged(
    runs: Sequence[Run], arguments: list[Any], expected: Expected, *, zeros_too: bool
) -> Expected:
    reached = [_nothing_of(one) for one in expected.outputs]
    ties = [0.0 for _ in expected.outputs]
    for is_exact, results in _moved_results(runs, arguments, zeros_too=zeros_too):
        for number, one in enumerate(expected.outputs):
            move = _mark_reached(reached[number], one, results[number])
            if is_exact and zeros_too:
                ties[number] = max(ties[number], move)
        del results  # gigabytes, beside which the next ones would be worked out
    rows = zip(expected.outputs, reached, ties, strict=True)
    outputs = [_with_reach(*row, by_row=zeros_too) for row in rows]
    return replace(expected, outputs=tuple(outputs))


def _mark_reached(reached: torch.Tensor, one: Output, found: torch.Tensor) -> float:
    """Note in ``reached`` how far each number of an output moved; return how far the one did that
    moved farthest, and zero for integers."""
    if not one.is_float:
        reached |= found != one.own
        return 0.0
    farthest = [0.0]
    scale = one.scale.expand(one.exact.shape)
    for so_far, value, exact, size in pieces(reached, found, one.exact, scale):
        move = (value - exact).abs_().div_(size).nan_to_num_(0.0, 0.0, 0.0)
        torch.maximum(so_far, move, out=so_far)
        farthest += [float(move.max())] if move.numel() else []
    return max(farthest)


def _nothing_of(one: Output) -> torch.Tensor:
    return torch.zeros_like(one.exact, dtype=torch.float64 if one.is_float else torch.bool)


def _with_reach(one: Output, reached: torch.Tensor, tie: float, *, by_row: bool) -> Output:
    if not one.is_float:
        loose = reached if one.loose is None else reached | one.loose
        if by_row and loose.dim() > 1:
            loose = loose | (loose.float().mean(-1, keepdim=True) > TIED_SHARE)
        return replace(one, loose=loose)
    one = replace(one, jumps=reached)
    if max(LEAST_TIED, one.allowed / 2) >= tie:
        return one
    allowed = 2 * tie  # either of two elements may have gone the other way
    return replace(one, allowed=allowed if allowed <= 1.0 else math.inf, beyond=1.0)


def looser(expected: Expected, results: list[torch.Tensor]) -> Expected:
    """Let integers differ where ``results`` differ from the reference's own."""
    outputs = [
        one if one.loose is None else replace(one, loose=one.loose | (found != one.own))
        for one, found in zip(expected.outputs, results, strict=True)
    ]
    return replace(expected, outputs=tuple(outputs))


def _moved_results(
    runs: Sequence[Run], arguments: list[Any], *, zeros_too: bool
) -> Iterator[tuple[bool, list[torch.Tensor]]]:
    """Yield the results of both ``runs`` for every perturbation that they accept, and whether they
    are float64's."""
    for moved in nudges(arguments, zeros_too=zeros_too):
        for is_exact, run in zip((True, False), runs, strict=True):
            results = None
            with contextlib.suppress(*FAILURES):
                results = run(moved if is_exact else _in_types_of(arguments, moved))
            if results is not None:
                yield is_exact, as_real(results)
            del results
        del moved


def _moved(t: torch.Tensor, size_ulp: float, seed: int | None, times: float = 1.0) -> torch.Tensor:
    """Move every element by ``times`` ``size_ulp`` of its own type, or with a ``seed`` at random
    by at most that; narrow types by one ulp, which is as much as many roundings of float32."""
    if not (t.is_floating_point() or t.is_complex()):
        return t
    is_narrow = t.is_floating_point() and t.element_size() < 4
    size_ulp = times * (min(size_ulp, 1.0) if is_narrow else size_ulp)
    ulp = size_ulp * torch.finfo(t.dtype).eps / 2
    if seed is None:
        return widen(t) * (1 + ulp)
    draw = torch.Generator(t.device).manual_seed(seed)
    # In t's layout, and in place: inputs of 7 GB lacked room for three copies.
    factor = torch.empty_like(t, dtype=torch.float64).uniform_(generator=draw)
    factor.mul_(2 * ulp).add_(1 - ulp)
    return factor.mul_(t) if t.is_floating_point() else factor * t
