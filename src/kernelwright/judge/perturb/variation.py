"""Perturbs one task's inputs, as far as its reference accepts that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from kernelwright.judge.perturb.admissible import Chosen, Way, choose, mixed
from kernelwright.judge.perturb.index_collisions import with_collisions
from kernelwright.judge.perturb.integers import WAYS, resample_integers, skew_integers
from kernelwright.judge.perturb.signs import Run, find_signs, with_signs
from kernelwright.judge.perturb.specials import vary_numbers, with_specials
from kernelwright.judge.perturb.values import STRETCHES, Distribution, Stretch, n_drawn, transform

Accepts = Callable[[list[Any], list[Any]], bool]
"""Whether the reference takes the first arguments in place of the second."""


@dataclass(frozen=True)
class Source:
    """One draw of the task's own arguments, and what a perturbation may ask about the task."""

    own: list[Any]
    seed: int
    again: Callable[[], list[Any]]
    """Another draw of the task's arguments."""
    fixed_integers: list[bool]
    """Which tensors hold integers that are the same in every draw."""
    task: Variation
    perturb: Perturb

    def accepts(self, changed: list[Any]) -> bool:
        """Whether the reference takes ``changed`` arguments in place of its own."""
        return self.task.accepts(changed, self.own)

    def first_accepted(self, ways: Sequence[Way], turn: int = 0) -> list[Any]:
        """Each tensor changed in the first of several ways that the reference accepts for it; all
        of them in the first way where it accepts none."""
        return self.task.first_accepted(self, ways, turn)


Perturb = Callable[[Source], list[Any]]
"""Makes the arguments of one check from a draw of the task's own."""


class Variation:
    """Finds out once which changes one reference accepts. A tensor that must not change keeps no
    other tensor from changing."""

    def __init__(self, accepts: Accepts, run: Run) -> None:
        self.accepts, self.run = accepts, run
        self._chosen: dict[tuple[Perturb, int], Chosen] = {}
        self._known: dict[Hashable, Any] = {}

    def perturbed(
        self,
        perturb: Perturb,
        own: list[Any],
        seed: int,
        *,
        fixed_integers: Sequence[bool] = (),
        again: Callable[[], list[Any]] = list,
    ) -> list[Any]:
        """The arguments of a draw, made from the task's ``own``; what does not change is shared."""
        return perturb(Source(own, seed, again, list(fixed_integers), self, perturb))

    def once(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """The result of ``find`` in the first draw."""
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]

    def first_accepted(self, source: Source, ways: Sequence[Way], turn: int) -> list[Any]:
        ways = [cache(way) for way in ways]
        key = (source.perturb, turn)
        if key not in self._chosen:
            self._chosen.setdefault(key, choose(source.own, ways, source.accepts))
        chosen = self._chosen[key]
        return mixed(source.own, ways, chosen) if chosen else ways[0]()


def unchanged(source: Source) -> list[Any]:
    """The task's own inputs."""
    return source.own


def by_value(
    change: Distribution,
    *,
    stretches: Sequence[Stretch] = (),
    instead: Sequence[Distribution] = (),
    takes_turns: bool = False,
) -> Perturb:
    """Floating-point inputs under a distribution; where the reference does not accept that of a
    tensor, under the first of its ``stretches`` or of what comes ``instead`` that it accepts.
    ``takes_turns``: what is accepted depends on which argument has its turn."""

    def perturb(source: Source) -> list[Any]:
        changed = partial(_with_signs, source)
        ways: list[Way] = [partial(changed, change)]
        ways += [partial(changed, change, stretch) for stretch in stretches]
        ways += [partial(changed, other) for other in instead]
        n_tensors = n_drawn(source.own)
        if n_tensors < 2 and len(ways) == 1:
            return ways[0]()
        return source.first_accepted(ways, source.seed % max(1, n_tensors) if takes_turns else 0)

    return perturb


def _with_signs(source: Source, change: Distribution, stretch: Stretch | None = None) -> list[Any]:
    """The arguments under a distribution, with the signs that belong to the task."""
    task = source.task
    signs = task.once("signs", lambda: find_signs(source.own, task.run))
    return with_signs(source.own, transform(source.own, change, source.seed, stretch), signs)


def with_stretches(change: Distribution) -> Perturb:
    """As ``by_value``, by less where the reference accepts no values that large."""
    return by_value(change, stretches=STRETCHES)


def resampled(source: Source) -> list[Any]:
    """Integers and masks drawn anew from the task's own."""
    others = [] if any(source.fixed_integers) else source.again()
    change = partial(resample_integers, source.own, source.fixed_integers, source.seed)
    return source.first_accepted([partial(change, way, others=others) for way in WAYS])


def skewed(source: Source) -> list[Any]:
    """One number in half of the places of each integer tensor."""
    change = partial(skew_integers, source.own, source.seed)
    return source.first_accepted([partial(change, are_some_absent=True), change])


def colliding(source: Source) -> list[Any]:
    """Some integers equal to what the reference compares them with."""
    return with_collisions(source.own, source.task.run, source.seed)


def special(source: Source) -> list[Any]:
    """NaN and both infinities in every floating-point tensor."""
    return with_specials(source.own, source.seed)


def other_numbers(source: Source) -> list[Any]:
    """Other Python floats among the arguments."""
    return vary_numbers(source.own, source.seed)
