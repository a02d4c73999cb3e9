"""Inputs that are the same in every draw of a task are varied: otherwise a candidate could know the
inputs of its timed calls, and keep their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.compare.measures import all_finite, is_one_number, is_whole
from kernelwright.judge.perturb.accepted import accepted_parts
from kernelwright.judge.perturb.integers import resample_integers
from kernelwright.judge.perturb.patterns import has_other_form, is_mask, kept, laid_out, overlaps
from kernelwright.judge.perturb.values import VARIED
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import leaves, map_tensors

Draws = Callable[[int], list[Any]]
Run = Callable[[list[Any]], list[torch.Tensor]]

N_TRIED = 6
"""Variations of an input that the reference must all accept: some may leave a table of
probabilities near enough to a sum of one."""


@dataclass(frozen=True)
class Fixed:
    """Which tensors are the same in every draw, and are varied."""

    which: list[bool]

    def text(self) -> str:
        """Name the varied arguments, for a reason that would else name inputs that nobody finds;
        empty if none are."""
        numbers = " and ".join(str(n) for n, one in enumerate(self.which) if one)
        how = "the same in every draw, varied (floats by a 64th at most)"
        return f"with argument {numbers}, {how}" if numbers else ""


def find_fixed(draw: Draws, run: Run) -> tuple[Fixed, list[Warned]]:
    """Find out which tensors to vary, because they are the same in two draws (a task may set its
    own seed); with warnings.

    Integers are varied only where nothing else in a call is new. Tensors of which ``run``, the
    reference, accepts no other values stay, as indices and tables of probabilities.
    """
    given = draw(0)
    pairs = list(zip(leaves(given), leaves(draw(1)), strict=True))
    is_same = [a.numel() > 0 and torch.equal(a, b) for a, b in pairs]
    is_all = all(torch.equal(a, b) for a, b in pairs)
    # Masks stay masks where something else is new: the check on integers flips some of them.
    floats = [
        one and not is_whole(a) and (is_all or not is_mask(a))
        for one, (a, _) in zip(is_same, pairs, strict=True)
    ]
    whole = [
        one and is_all and is_whole(a) and not is_one_number(a)
        for one, (a, _) in zip(is_same, pairs, strict=True)
    ]
    asked = floats if any(floats) else whole

    def is_accepted(which: list[bool]) -> bool:
        changed = (renew(given, Fixed(which), seed) for seed in range(N_TRIED))
        return all(takes(run, one, instead_of=given) for one in changed)

    found = _accepted(asked, is_accepted)
    if not any(found) and any(whole) and is_accepted(whole):
        found = whole
    if found == asked:
        return Fixed(found), []
    some = "some inputs" if any(found) else "inputs"
    told = f"{some} that are the same in every draw are not varied: the reference takes no others"
    return Fixed(found), [Warned(WarningCode.INPUTS_NOT_VARIED, told)]


def find_variable(given: list[Any], run: Run) -> Fixed:
    """Find out which floating-point tensors of ``given`` arguments may be varied, masks left out:
    ``run``, the reference, accepts that."""
    asked = [x.numel() > 0 and not is_whole(x) and not is_mask(x) for x in leaves(given)]

    def is_accepted(which: list[bool]) -> bool:
        changed = (renew(given, Fixed(which), seed) for seed in range(N_TRIED))
        return all(takes(run, one, instead_of=given) for one in changed)

    return Fixed(_accepted(asked, is_accepted))


def _accepted(asked: list[bool], is_accepted: Callable[[list[bool]], bool]) -> list[bool]:
    """Return as many of the tensors as the reference accepts varied together."""
    all_places = range(len(asked))
    places = [place for place in all_places if asked[place]]
    found = accepted_parts(places, lambda some: is_accepted([n in some for n in all_places]))
    return [place in found for place in all_places]


def takes(run: Run, changed: list[Any], *, instead_of: list[Any]) -> bool:
    """Whether the reference does not fail with ``changed`` arguments, and finite results stay
    so."""
    try:
        return all_finite(run(changed)) or not all_finite(run(instead_of))
    except FAILURES:
        return False


def renew(arguments: list[Any], fixed: Fixed, seed: int) -> list[Any]:
    """Return ``arguments`` with the fixed floating-point tensors changed by at most VARIED, and the
    fixed integers drawn anew from their own numbers. In a tensor whose form other numbers would
    lose whole rows change, or none."""
    rows = iter(fixed.which)

    def change(x: torch.Tensor) -> torch.Tensor:
        if not next(rows, False) or is_whole(x):
            return x
        draw = torch.Generator(x.device).manual_seed(seed)
        has_form = x.is_floating_point() and has_other_form(x)
        shape = (*x.shape[:-1], 1) if has_form else x.shape
        noise = torch.rand(shape, generator=draw, device=x.device) * 2 - 1
        moved = x * (1 + VARIED * noise).to(x.dtype)
        if has_form and not has_other_form(moved):
            return x
        changed = x.clone(memory_format=torch.preserve_format).copy_(kept(x, moved))
        return changed if overlaps(x) else laid_out(changed, x)

    varied = map_tensors(change, arguments)
    whole = [one and is_whole(x) for one, x in zip(fixed.which, leaves(arguments), strict=False)]
    return resample_integers(varied, whole, seed) if any(whole) else varied
