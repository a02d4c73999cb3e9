"""A task's own inputs, changed as a draw asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from kernelwright.judge.borne import Chosen, choose, mixed
from kernelwright.judge.draws import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.fixed import Run, takes
from kernelwright.judge.inputs import (
    BETWEEN,
    NUMBERS,
    OUTLIERS,
    OVERFLOWING,
    RESAMPLED,
    SPECIAL,
    enlarge,
    headroom,
    transform,
    vary_numbers,
    with_specials,
)
from kernelwright.judge.integers import WAYS, resample_integers

Bears = Callable[[list[Any], list[Any]], bool]
"""Whether the reference takes the first arguments in place of the second."""


class Variation:
    """Changes the inputs of one task, as far as its reference ``bears`` that, which is found out in
    the first draw of a distribution; ``run`` is the reference."""

    def __init__(self, run: Run, bears: Bears) -> None:
        self._run, self._bears = run, bears
        self._chosen: dict[str, Chosen] = {}
        self._power = 0.0

    def varied(self, own: list[Any], draw: Draw, fixed_integers: list[bool]) -> list[Any]:
        """The arguments of a draw, from the task's ``own``; those that are not changed are the
        same. Of integers those that are fixed are drawn anew, as in ``resample_integers``."""
        if draw.distribution in (TASK, OWN_WEIGHTS):
            return own
        if draw.distribution == SPECIAL:
            return with_specials(own, draw.seed)
        if draw.distribution == OVERFLOWING:
            self._power = self._power or headroom(own, self._is_borne(own))
            return enlarge(own, self._power)
        if draw.distribution == NUMBERS:
            return vary_numbers(own, draw.seed)
        if draw.distribution == RESAMPLED:
            return self._resampled(own, draw, fixed_integers)
        changed = transform(own, draw.distribution, draw.seed)
        if draw.distribution == OUTLIERS and not takes(self._run, changed, instead_of=own):
            return transform(own, BETWEEN, draw.seed)
        return changed

    def _resampled(self, own: list[Any], draw: Draw, is_fixed: list[bool]) -> list[Any]:
        ways = [cache(partial(resample_integers, own, is_fixed, draw.seed, way)) for way in WAYS]
        if RESAMPLED not in self._chosen:
            self._chosen.setdefault(RESAMPLED, choose(own, ways, self._is_borne(own)))
        chosen = self._chosen[RESAMPLED]
        return mixed(own, ways, chosen) if chosen else ways[0]()

    def _is_borne(self, own: list[Any]) -> Callable[[list[Any]], bool]:
        return lambda changed: self._bears(changed, own)
