"""Inputs moved in their last digits, to see what of a task's results depends on rounding alone."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare.allowances import conditioning
from kernelwright.judge.compare.measures import as_real, error_of, is_whole, share_beyond
from kernelwright.judge.compare.outputs import (
    CONDITION_FACTOR,
    FACTOR,
    NARROW_ERROR,
    SPREAD,
    Expected,
)
from kernelwright.judge.perturb.patterns import is_mask
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import flat_source, leaves, map_tensors

LOOSE_ULP = 16.0
"""How far inputs move, in ulp, to show which integers depend on rounding; as CONDITION_FACTOR."""
N_RANDOM = 12
"""Random perturbations besides all up and all down: which of two sums is larger shows only when
terms move differently. Each shows half of the numbers on a border: with four of them a quantiser by
reciprocals was refused in one of twenty calls that had such a number."""
N_TIED = 4
"""Random perturbations that show what depends on ties: a change is as large as what is chosen."""
TIED_SHARE = 1 / 32
"""Share of a row's integers that changed when zeros moved, from which the rest of the row counts as
depending on ties too."""
FEW_NUMBERS, N_POOLED = 256, 8
"""Size of an output up to which its largest error is luck, and the number of further runs on moved
inputs from which the reference's error is then taken. A mean of cosines whose terms cancel was
refused in two verdicts of six."""
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
    """The tensor in float64 or complex128; integers and booleans unchanged."""
    return t.double() if t.is_floating_point() else t.to(WIDE.get(t.dtype, t.dtype))


def by_rounding(
    run: Callable[[list[Any], Change], list[torch.Tensor] | None],
    arguments: list[Any],
    expected: Expected,
    growths: list[float],
    *,
    times: float = 1.0,
) -> tuple[list[torch.Tensor] | None, list[float]]:
    """The float64 results, or None, of a ``run`` whose arguments and weights are moved by one ulp,
    or ``times`` that; and for each output how many times farther than one ulp moves it it may be
    off.

    Each output has an ulp of its own: beside one that is rounded to bfloat16 another may be
    computed in float32. See ``in_last_digits``.
    """
    types = computed_in(arguments, expected)
    found = {one: run(*in_last_digits(arguments, one, times)) for one in dict.fromkeys(types)}
    pairs = zip(types, growths, strict=True)
    factors = [max(CONDITION_FACTOR, growth) if one else FACTOR for one, growth in pairs]
    if any(results is None for results in found.values()):
        return None, factors
    return [found[one][number] for number, one in enumerate(types)], factors


def computed_in(arguments: list[Any], expected: Expected) -> list[torch.dtype | None]:
    """For each output the type that the reference widens narrower inputs to at once, float32 or
    float64; None where it rounds to a narrow type, as its own error shows."""
    has_narrow = are_narrow(arguments)

    def found(own: torch.Tensor, error: float) -> torch.dtype | None:
        if has_narrow and error > NARROW_ERROR:
            return None
        is_double = own.dtype == torch.float64 and error <= SINGLE_ERROR
        return torch.float64 if is_double else torch.float32

    return list(map(found, expected.own, expected.errors))


def in_last_digits(
    arguments: list[Any], least: torch.dtype | None, times: float = 1.0
) -> tuple[list[Any], Change]:
    """``arguments`` in float64, every element moved by about one ulp of the type that the reference
    computes in, or ``times`` that; and the same change for weights.

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
    return t.to(torch.promote_types(t.dtype, least))


def nudges(arguments: list[Any], *, zeros_too: bool) -> Iterator[list[Any]]:
    """``arguments`` in float64, moved by LOOSE_ULP in several ways, except exact tensors.

    With ``zeros_too``, for inputs beyond the task's own, zeros move as numbers of the usual size
    do, and integers move too: they may tie there."""
    exact = _are_exact(arguments, whole_too=not zeros_too)
    for sign in (1.0, -1.0):
        yield _changed(arguments, exact, lambda t, s=sign: _moved(t, s * LOOSE_ULP, None))
    for number in range(N_RANDOM):
        seeds = itertools.count(number, N_RANDOM)  # each tensor its own: x / s must part ways
        at_random = partial(_moved_at_random, seeds=seeds, zeros_too=zeros_too)
        yield _changed(arguments, exact, at_random)


def _changed(arguments: list[Any], exact: list[bool], change: Change) -> list[Any]:
    """``arguments`` with ``change`` made to what is not ``exact``."""
    stays = iter(exact)
    return map_tensors(lambda t: widen(t) if next(stays) else change(t), arguments)


def _moved_at_random(t: torch.Tensor, seeds: Iterator[int], zeros_too: bool) -> torch.Tensor:
    seed = next(seeds)
    moved = _moved(t, LOOSE_ULP, seed)
    if not (zeros_too and t.is_floating_point() and t.numel()):
        return moved
    size = _usual_size(t)
    return moved + _moved(size.expand(t.shape), LOOSE_ULP, seed) - size


def _usual_size(t: torch.Tensor) -> torch.Tensor:
    """The first quartile of the sizes of finite numbers other than zero: with a mean, outliers and
    the -1e9 of masks would move everything."""
    some = t.flatten()[:: max(1, t.numel() // N_SIZED)].abs()
    some = some[some.isfinite() & (some > 0)].float()
    return some.quantile(0.25).to(t.dtype) if some.numel() else t.new_zeros(())


def shaken(arguments: list[Any]) -> Iterator[list[Any]]:
    """``arguments`` in their own precision, moved by LOOSE_ULP in N_TIED ways, zeros too."""
    for moved in _random(arguments, N_TIED, zeros_too=True):
        yield _in_types_of(arguments, moved)


def moved_once(arguments: list[Any]) -> list[Any]:
    """``arguments`` in their own precision, moved by at most LOOSE_ULP, except exact tensors."""
    return _in_types_of(arguments, next(_random(arguments, 1, zeros_too=False)))


def tied(run: Run, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with the errors allowed that another order of equal numbers causes: in a row of
    zeros a router may choose any expert. Where that exceeds the results themselves, the allowance
    is infinite: nobody can say what is right."""
    allowed = list(expected.allowed)
    for moved in _random(arguments, N_TIED, zeros_too=True):
        found = run(moved)
        if found is not None:
            moves = [conditioning(one, expected, n) for n, one in enumerate(found)]
            # Either of two may have gone the other way. Less is rounding, which is told already.
            moves = [2 * move if move > LEAST_TIED else 0.0 for move in moves]
            allowed = [max(pair) for pair in zip(allowed, moves, strict=True)]
    pairs = zip(allowed, expected.allowed, expected.beyond, strict=True)
    beyond = [1.0 if wider > usual else share for wider, usual, share in pairs]
    allowed = [math.inf if one > 1.0 else one for one in allowed]
    return replace(expected, allowed=allowed, beyond=beyond)


def pooled(runs: Sequence[Run], arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with the reference's largest error over several more runs as the yardstick for
    outputs of few numbers; ``runs`` as for ``loose_places``."""
    few = [n for n, e in enumerate(expected.exact) if _is_few(e)]
    allowed, beyond = list(expected.allowed), list(expected.beyond)
    for moved in _random(arguments, N_POOLED, zeros_too=False) if few else ():
        given = _in_types_of(arguments, moved)
        with contextlib.suppress(*FAILURES):
            own, exact = as_real(runs[1](given)), as_real(runs[0](map_tensors(widen, given)) or [])
            for n in few:
                told = own[n], exact[n], None, expected.scales[n]
                error, sound = error_of(*told), expected.sound[n]
                if math.isfinite(error):
                    allowed[n] = max(allowed[n], FACTOR * error)
                    beyond[n] = max(beyond[n], SPREAD * share_beyond(*told, sound / FACTOR))
    return replace(expected, allowed=allowed, beyond=beyond)


def _is_few(exact: torch.Tensor) -> bool:
    return exact.is_floating_point() and 0 < exact.numel() <= FEW_NUMBERS


def _in_types_of(arguments: list[Any], moved: list[Any]) -> list[Any]:
    """The ``moved`` float64 arguments in the arguments' own types."""
    dtypes = iter([t.dtype for t in leaves(arguments)])
    return map_tensors(lambda t: t.to(next(dtypes)), moved)


def _random(arguments: list[Any], n: int, *, zeros_too: bool) -> Iterator[list[Any]]:
    return itertools.islice(nudges(arguments, zeros_too=zeros_too), 2, 2 + n)


def all_loose(own: list[torch.Tensor]) -> list[torch.Tensor | None]:
    """Masks that say that rounding may decide every integer result."""
    return [torch.ones_like(t, dtype=torch.bool) if is_whole(t) else None for t in own]


def loose_places(
    runs: Sequence[Run], arguments: list[Any], own: list[torch.Tensor], *, zeros_too: bool
) -> list[torch.Tensor | None]:
    """Where integer results change when ``arguments`` move by their last digits; empty if there are
    no integer results.

    ``runs`` are the reference in float64 and in its own precision, whose noise may decide as well;
    ``own`` are its results in its own precision. Where zeros move too and much of a row changes,
    all of the row counts: of a hundred elements that tie for one place few were seen in it.
    """
    loose = [torch.zeros_like(t, dtype=torch.bool) if is_whole(t) else None for t in own]
    if all(mask is None for mask in loose):
        return []
    moved = _moved_results(runs, arguments, zeros_too=zeros_too)
    return looser(loose, moved, own, by_row=zeros_too)


def loose_as_computed(
    runs: Sequence[Run], arguments: list[Any], expected: Expected, *, zeros_too: bool
) -> list[torch.Tensor | None]:
    """``loose_places``, with inputs moved by float32's last digits where the reference widens
    narrow inputs at once: its own integers then equal float64's in nearly all places that depend on
    the narrow type's digits."""
    found = loose_places(runs, arguments, expected.own, zeros_too=zeros_too)
    rows = zip(found, expected.own, expected.exact, strict=True) if found else ()
    are_wide = [mask is not None and _are_told(mask, own != exact) for mask, own, exact in rows]
    if not (are_narrow(arguments) and any(are_wide)):
        return found
    wide = map_tensors(partial(_in_at_least, torch.float32), arguments)
    closer = loose_places(runs, wide, expected.own, zeros_too=zeros_too)
    return [
        one if is_wide else mask for mask, one, is_wide in zip(found, closer, are_wide, strict=True)
    ]


def _are_told(loose: torch.Tensor, differ: torch.Tensor) -> bool:
    """Whether so many integers depend on narrow digits, and so few differ, that the reference did
    not round to a narrow type."""
    n_loose = int(loose.sum())
    return n_loose >= FEWEST_TOLD and int(differ.sum()) * FEWEST_TOLD < n_loose


def looser(
    loose: Sequence[torch.Tensor | None],
    runs: Iterable[list[torch.Tensor]],
    own: list[torch.Tensor],
    *,
    by_row: bool,
) -> list[torch.Tensor | None]:
    """``loose``, and where the results of further ``runs`` differ from the reference's ``own``;
    with ``by_row`` whole rows of which much differs."""
    for results in runs:
        for mask, one, other in zip(loose, results, own, strict=True):
            if mask is not None:
                mask |= one != other
    return [m if m is None or not by_row else _rows_of_ties(m) for m in loose]


def _moved_results(
    runs: Sequence[Run], arguments: list[Any], *, zeros_too: bool
) -> Iterator[list[torch.Tensor]]:
    """The results of both ``runs`` for every perturbation that they accept."""
    for moved in nudges(arguments, zeros_too=zeros_too):
        for run, given in zip(runs, (moved, _in_types_of(arguments, moved)), strict=True):
            results = None
            with contextlib.suppress(*FAILURES):
                results = run(given)
            if results is not None:
                yield as_real(results)


def _rows_of_ties(loose: torch.Tensor) -> torch.Tensor:
    if loose.dim() < 2:  # numbers that have nothing to do with one another, as a batch's
        return loose
    return loose | (loose.float().mean(-1, keepdim=True) > TIED_SHARE)


def jumps(
    runs: Sequence[Run], arguments: list[Any], expected: Expected, *, zeros_too: bool
) -> list[torch.Tensor | None]:
    """How far each floating-point result moves, relative to its row's scale, when ``arguments``
    move by their last digits: a step of a quantiser, another choice. ``runs`` as for
    ``loose_places``."""
    found = [torch.zeros_like(e) if e.is_floating_point() else None for e in expected.exact]
    for results in _moved_results(runs, arguments, zeros_too=zeros_too):
        _reach(found, results, expected)
    return found


def _reach(
    found: list[torch.Tensor | None], results: list[torch.Tensor], expected: Expected
) -> None:
    """Raise ``found`` to where ``results`` lie farther from what was expected."""
    rows = zip(found, results, expected.exact, expected.scales, strict=True)
    for most, one, exact, scale in rows:
        if most is not None:
            move = (one - exact).abs_().div_(scale).nan_to_num_(0.0, 0.0, 0.0)
            torch.maximum(most, move, out=most)


def _moved(t: torch.Tensor, size_ulp: float, seed: int | None, times: float = 1.0) -> torch.Tensor:
    """Every element moved by ``times`` ``size_ulp`` of its own type, or with a ``seed`` at random
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
