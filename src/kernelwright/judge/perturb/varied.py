"""A task's own inputs, changed as a draw asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from kernelwright.judge.perturb.admissible import Chosen, Way, choose, mixed
from kernelwright.judge.perturb.distributions import (
    COLLIDING,
    NUMBERS,
    OVERFLOWING,
    RESAMPLED,
    SKEWED,
    SPECIAL,
    enlarge,
    headroom,
    n_drawn,
    transform,
    vary_numbers,
    with_specials,
)
from kernelwright.judge.perturb.draws import OTHER_WEIGHTS, TASK, Draw
from kernelwright.judge.perturb.extremes import BETWEEN, ENDS, HUGE_INPUTS, OUTLIERS, STRETCHES
from kernelwright.judge.perturb.index_collisions import with_collisions
from kernelwright.judge.perturb.integers import WAYS, resample_integers, skew_integers
from kernelwright.judge.perturb.signs import Run, Signs, find_signs, with_signs

Bears = Callable[[list[Any], list[Any]], bool]
"""Whether the reference takes the first arguments in place of the second."""


class Variation:
    """Changes the inputs of one task, as far as its reference ``bears`` that: one that bears no
    change must keep no other from it. It is found out in the first draw of a distribution."""

    def __init__(self, bears: Bears, run: Run) -> None:
        self._bears, self._run = bears, run
        self._signs: Signs | None = None
        self._chosen: dict[tuple[str, int], Chosen] = {}
        self._power = 0.0

    def varied(
        self,
        own: list[Any],
        draw: Draw,
        fixed_integers: list[bool],
        again: Callable[[], list[Any]] = list,
    ) -> list[Any]:
        """The arguments of a draw, from the task's ``own``; those that are not changed are the
        same. Of integers those that are fixed are drawn anew, or all from those that the task gives
        ``again``, as in ``resample_integers``."""
        name, seed = draw.distribution, draw.seed
        if name in (TASK, *OTHER_WEIGHTS):
            return own
        if name == SPECIAL:
            return with_specials(own, seed)
        if name == OVERFLOWING:
            self._power = self._power or headroom(own, self._is_borne(own))
            return enlarge(own, self._power)
        if name == NUMBERS:
            return vary_numbers(own, seed)
        if name == RESAMPLED:
            others = [] if any(fixed_integers) else again()
            resampled = partial(resample_integers, own, fixed_integers, seed, others=others)
            ways = [partial(resampled, way) for way in WAYS]
            return self._changed(own, (name, 0), ways)
        if name == SKEWED:
            skewed = partial(skew_integers, own, seed)
            return self._changed(own, (name, 0), [partial(skewed, are_some_absent=True), skewed])
        if name == COLLIDING:
            return with_collisions(own, self._run, seed)
        n_turns = n_drawn(own)
        changed = partial(self._transformed, own)
        ways = [partial(changed, name, seed)]
        if name in (HUGE_INPUTS, OUTLIERS):
            ways += [partial(changed, name, seed, stretch) for stretch in STRETCHES]
        if name == OUTLIERS:
            ways += [partial(changed, name, seed) for name in (ENDS, BETWEEN)]
            return self._changed(own, (name, seed % max(1, n_turns)), ways)
        is_free = n_turns > 1 or len(ways) > 1
        return self._changed(own, (name, 0), ways) if is_free else ways[0]()

    def _transformed(
        self, own: list[Any], name: str, seed: int, stretch: tuple[float, float] | None = None
    ) -> list[Any]:
        """The arguments under a distribution, but for signs that belong to the task."""
        if self._signs is None:
            self._signs = find_signs(own, self._run)
        return with_signs(own, transform(own, name, seed, stretch), self._signs)

    def _changed(self, own: list[Any], key: tuple[str, int], ways: list[Way]) -> list[Any]:
        """Each tensor in the way that was chosen for it; all in the first where none is borne."""
        ways = [cache(way) for way in ways]
        if key not in self._chosen:
            self._chosen.setdefault(key, choose(own, ways, self._is_borne(own)))
        chosen = self._chosen[key]
        return mixed(own, ways, chosen) if chosen else ways[0]()

    def _is_borne(self, own: list[Any]) -> Callable[[list[Any]], bool]:
        return lambda changed: self._bears(changed, own)
