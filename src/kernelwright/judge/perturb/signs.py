"""Arguments, or columns of them, that must keep their sign, as prices before a logarithm.

Whether a kernel gives NaN for numbers of the other sign is luck, so a difference there says
nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Any

import torch

from kernelwright.judge.compare.measures import as_real
from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import SHORTEST, is_mask, kept, overlaps
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import leaves, map_tensors

Run = Callable[[list[Any]], list[torch.Tensor]]
Signs = dict[tuple[int, int | None], int]
"""The sign to keep, by the tensor's place among the arguments and the column, None for all."""

NAN_SHARE = 1 / 8
"""Share of an output that turns to NaN when one argument gets both signs, from which it keeps its
own."""
MOST_ASKED = 32
"""Most arguments or columns that are tried, with one run of the reference each."""
MOST_COLUMNS = 8
"""Most columns of a table whose columns are looked at one by one."""


def find_signs(own: list[Any], run: Run) -> Signs:
    """The signs that arguments must keep: ``run``, the reference, gives NaN or fails if one of them
    alone gets numbers of both signs.

    NaN that integers hide is in one result more, see ``compare.hidden``.
    """
    asked = [
        (place, *part) for place, x in enumerate(leaves(own)) for part in _parts_of_one_sign(x)
    ]
    before = _nan_shares(run, own) if asked else None
    found: Signs = {}
    for place, column, sign in asked[:MOST_ASKED]:
        mixed = partial(_with_part, column=column, change=_mixed)
        shares = _nan_shares(run, _each(own, lambda x, n, p=place, m=mixed: m(x) if n == p else x))
        if before is not None and _is_refused(before, shares):
            found[place, column] = sign
    return found


def _is_refused(before: list[float], shares: list[float] | None) -> bool:
    """Whether there are far more NaN than before, or the reference fails."""
    if shares is None:
        return True
    pairs = zip_longest(before, shares, fillvalue=0.0)
    return any(now - usual >= NAN_SHARE for usual, now in pairs)


def with_signs(own: list[Any], changed: list[Any], signs: Signs) -> list[Any]:
    """``changed`` with the signs and patterns that the ``own`` arguments must keep."""
    if not signs:
        return changed
    given = leaves(own)

    def mend(x: torch.Tensor, place: int) -> torch.Tensor:
        found = x
        for (where, column), sign in signs.items():
            if where == place:
                found = _with_part(found, column, lambda part, s=sign: s * part.abs())
        return x if found is x else laid_out(kept(given[place], found), x)

    return _each(changed, mend)


def _with_part(
    x: torch.Tensor, column: int | None, change: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """``x`` with one column changed, or all of it."""
    if column is None:
        return change(x)
    found = x.clone()
    found[..., column] = change(x[..., column].contiguous())
    return found


def _each(arguments: list[Any], change: Callable[[torch.Tensor, int], torch.Tensor]) -> list[Any]:
    """``arguments`` with each tensor changed; ``change`` gets its place too."""
    places = iter(range(len(leaves(arguments))))
    return map_tensors(lambda x: change(x, next(places)), arguments)


def _parts_of_one_sign(x: torch.Tensor) -> list[tuple[int | None, int]]:
    """The sign of all its numbers, or of some columns; nothing for mixed signs, and for tensors
    that no distribution changes."""
    if not x.is_floating_point() or x.numel() == 0 or overlaps(x) or is_mask(x):
        return []
    if sign := _sign_of(x):
        return [(None, sign)]
    if x.dim() < 2 or x.shape[-1] > MOST_COLUMNS or x.numel() < SHORTEST * x.shape[-1]:
        return []
    signs = [(column, _sign_of(part)) for column, part in enumerate(x.unbind(-1))]
    return [(column, sign) for column, sign in signs if sign]


def _sign_of(x: torch.Tensor) -> int:
    """The sign that all its numbers have; zero if they have none in common."""
    low, high = map(float, torch.aminmax(x))
    return int(low >= 0 and high > 0) - int(high <= 0 and low < 0)


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """``x`` with about half of its signs flipped at random, the first one always."""
    draw = torch.Generator(x.device).manual_seed(0)
    is_turned = torch.rand(x.shape, generator=draw, device=x.device) < 0.5
    is_turned.view(-1)[0] = True
    return laid_out(torch.where(is_turned, -x, x), x)


def _nan_shares(run: Run, arguments: list[Any]) -> list[float] | None:
    """The share of NaN in each output; None if the reference fails."""
    try:
        return [float(t.isnan().float().mean()) for t in as_real(run(arguments))]
    except FAILURES:
        return None
