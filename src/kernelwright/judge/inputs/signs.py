"""Arguments of one sign, of which a reference takes no others, as prices before a logarithm: what
numbers of the other sign give is NaN or not by luck, and kernels differ in which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.judge.inputs.distributions import laid_out
from kernelwright.judge.inputs.patterns import is_mask, kept, overlaps
from kernelwright.judge.machine.layout import leaves, map_tensors
from kernelwright.judge.numerics.measures import as_real
from kernelwright.judge.refusal import FAILURES

Run = Callable[[list[Any]], list[torch.Tensor]]
Signs = dict[int, int]
"""By the places of tensors among the arguments, the sign that they keep."""

NAN_SHARE = 1 / 8
"""Of an output, that must be no number where an argument alone has both signs."""
MOST_ASKED = 8
"""Arguments, for each of which the reference is run once."""


def find_signs(own: list[Any], run: Run) -> Signs:
    """The signs of the task's ``own`` arguments that have but one, where ``run``, the reference,
    gives NaN in their place for numbers of either sign, all other arguments as they were."""
    asked = [(place, _sign_of(x)) for place, x in enumerate(leaves(own))]
    asked = [(place, sign) for place, sign in asked if sign][:MOST_ASKED]
    before = _nan_shares(run, own) if asked else []
    found: Signs = {}
    for place, sign in asked:
        shares = _nan_shares(run, _each(own, lambda x, n, p=place: _mixed(x) if n == p else x))
        pairs = zip(before, shares, strict=False)
        if any(now - usual >= NAN_SHARE for usual, now in pairs):
            found[place] = sign
    return found


def with_signs(own: list[Any], changed: list[Any], signs: Signs) -> list[Any]:
    """``changed`` with the signs that ``own`` arguments keep, and their patterns."""
    if not signs:
        return changed
    given = leaves(own)

    def mend(x: torch.Tensor, place: int) -> torch.Tensor:
        if place not in signs:
            return x
        return laid_out(kept(given[place], signs[place] * x.abs()), x)

    return _each(changed, mend)


def _each(arguments: list[Any], change: Callable[[torch.Tensor, int], torch.Tensor]) -> list[Any]:
    """``arguments`` with each tensor changed, which is told its place."""
    places = iter(range(len(leaves(arguments))))
    return map_tensors(lambda x: change(x, next(places)), arguments)


def _sign_of(x: torch.Tensor) -> int:
    """That of all its numbers; nought where there is no such, or it is none of a distribution's."""
    if not x.is_floating_point() or x.numel() == 0 or overlaps(x) or is_mask(x):
        return 0
    low, high = map(float, torch.aminmax(x))
    return int(low >= 0 and high > 0) - int(high <= 0 and low < 0)


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """The numbers of ``x`` with every second of either sign, at random; the first is turned."""
    draw = torch.Generator(x.device).manual_seed(0)
    is_turned = torch.rand(x.shape, generator=draw, device=x.device) < 0.5
    is_turned.view(-1)[0] = True
    return laid_out(torch.where(is_turned, -x, x), x)


def _nan_shares(run: Run, arguments: list[Any]) -> list[float]:
    """Of each output; none where the reference fails."""
    try:
        return [float(t.isnan().float().mean()) for t in as_real(run(arguments))]
    except torch.OutOfMemoryError:
        raise
    except FAILURES:
        return []
