"""Inputs that are the same in every draw of a task are varied: otherwise a candidate could know the
inputs of its timed calls, and keep their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.compare.measures import all_finite, is_one_number, is_whole
from kernelwright.judge.perturb.admissible import MOST_TRIES, halves
from kernelwright.judge.perturb.bounds import in_bounds
from kernelwright.judge.perturb.integers import resample_integers
from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import is_mask, kept, overlaps, with_whole_columns
from kernelwright.judge.perturb.specials import VARIED
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import leaves, map_tensors

Draws = Callable[[int], list[Any]]
Run = Callable[[list[Any]], list[torch.Tensor]]

N_TRIED = 6
"""Variations of an input that the reference must all accept: some may leave a table of
probabilities near enough to a sum of one."""


@dataclass(frozen=True)
class Fixed:
    """Which tensors are the same in every draw, and how they are varied."""

    which: list[bool]
    is_shuffled: bool = False
    """Whether the slices along their longest axis are shuffled as well: numbers that only differ by
    VARIED tell what is nearest, or largest, in the next call."""

    def text(self) -> str:
        """Which arguments are varied, for a reason that would else name inputs that nobody finds;
        empty if none are."""
        numbers = " and ".join(str(n) for n, one in enumerate(self.which) if one)
        how = "the same in every draw, varied (floats by a 64th at most)"
        return f"with argument {numbers}, {how}" if numbers else ""


def find_fixed(draw: Draws, run: Run) -> tuple[Fixed, list[Warned]]:
    """Which tensors to vary, because they are the same in two draws (a task may set its own seed),
    and warnings.

    Integers are varied only where nothing else in a call is new. Tensors of which ``run``, the
    reference, accepts no other values stay, as indices and tables of probabilities.
    """
    given = draw(0)
    pairs = list(zip(leaves(given), leaves(draw(1)), strict=True))
    is_same = [a.numel() > 0 and torch.equal(a, b) for a, b in pairs]
    is_all = all(torch.equal(a, b) for a, b in pairs)
    # Else masks stay masks: some of one is turned round now and then.
    fixed = [
        one and not is_whole(a) and (is_all or not is_mask(a))
        for one, (a, _) in zip(is_same, pairs, strict=True)
    ]
    whole = [
        one and is_all and is_whole(a) and not is_one_number(a)
        for one, (a, _) in zip(is_same, pairs, strict=True)
    ]
    fixed = fixed if any(fixed) else whole
    if not any(fixed):
        return Fixed(fixed), []

    def is_taken(how: Fixed) -> bool:
        others = (renew(given, how, seed) for seed in range(N_TRIED))
        return all(takes(run, other, instead_of=given) for other in others)

    for how in (Fixed(fixed, is_shuffled=True), Fixed(fixed)):
        if is_taken(how):
            return how, []
    some = _some(fixed, is_taken)
    if not any(some.which) and any(whole) and is_taken(Fixed(whole)):
        some = Fixed(whole)
    which = "some inputs" if any(some.which) else "inputs"
    told = f"{which} that are the same in every draw are not varied: the reference takes no others"
    return some, [Warned(WarningCode.INPUTS_NOT_VARIED, told)]


def _some(fixed: list[bool], is_taken: Callable[[Fixed], bool]) -> Fixed:
    """As many ``fixed`` tensors as the reference accepts varied together: one that must not change
    keeps no other from changing."""
    chosen: list[int] = []
    waiting = halves([place for place, one in enumerate(fixed) if one])
    for _ in range(MOST_TRIES):
        if not waiting:
            break
        places = waiting.pop()
        tried = [*chosen, *places]
        if is_taken(Fixed([place in tried for place in range(len(fixed))])):
            chosen = tried
        else:
            waiting += halves(places)
    return Fixed([place in chosen for place in range(len(fixed))] if chosen else [])


def takes(run: Run, changed: list[Any], *, instead_of: list[Any]) -> bool:
    """Whether the reference does not fail with ``changed`` arguments, and finite results stay
    so."""
    try:
        return all_finite(run(changed)) or not all_finite(run(instead_of))
    except FAILURES:
        return False


def renew(arguments: list[Any], fixed: Fixed, seed: int) -> list[Any]:
    """``arguments`` with fixed tensors changed by at most VARIED, and shuffled where ``fixed`` says
    so. Masks and tensors with infinities or many zeros are not shuffled; integers are drawn anew
    from their own numbers."""
    rows = iter(fixed.which)

    def change(x: torch.Tensor) -> torch.Tensor:
        if not next(rows, False):
            return x
        if is_whole(x):
            return resample_integers([x], [True], seed)[0]
        draw = torch.Generator(x.device).manual_seed(seed)
        noise = torch.rand(x.shape, generator=draw, device=x.device) * 2 - 1
        changed = x.clone(memory_format=torch.preserve_format)
        if fixed.is_shuffled and _has_no_places(x):
            changed.copy_(_shuffled(x, seed))
        moved = changed * (1 + VARIED * noise).to(x.dtype)
        changed = with_whole_columns(changed, kept(x, moved))
        return changed if overlaps(x) else laid_out(changed, x)

    return in_bounds(arguments, map_tensors(change, arguments))


def _has_no_places(x: torch.Tensor) -> bool:
    """Whether it may be shuffled: it holds no mask, and no zeros with a meaning, as those of a
    filter or a triangle. A few zeros, or whole slices of them, as padding, do not count."""
    if x.dim() == 0 or is_mask(x) or not bool(x.isfinite().all()):
        return False
    zeros = (x == 0).movedim(x.shape.index(max(x.shape)), 0)
    if not bool(zeros.any()):
        return True
    for axis in range(1, x.dim()):
        slices = zeros.movedim(axis, 0)
        slices[slices.flatten(1).all(1)] = False
    n_with = zeros.flatten(1).any(1).sum() if x.dim() > 1 else zeros.sum()
    return int(n_with) <= len(zeros) // 2


def _shuffled(x: torch.Tensor, seed: int) -> torch.Tensor:
    """``x`` with the slices along its longest axis shuffled: tensors of one length, as points and
    their values, get the same order."""
    draw = torch.Generator(x.device).manual_seed(seed)
    order = torch.randperm(max(x.shape), generator=draw, device=x.device)
    return x.index_select(x.shape.index(max(x.shape)), order)


def same_integers(one: list[Any], other: list[Any]) -> list[bool]:
    """By tensor, whether it holds integers or a mask that are the same in two draws."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    asked = [((is_whole(a) and a.numel() > 0) or is_mask(a), a, b) for a, b in pairs]
    return [is_one and torch.equal(a, b) for is_one, a, b in asked]
