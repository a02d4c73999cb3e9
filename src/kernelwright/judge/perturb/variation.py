"""Perturbs one task's inputs, as far as its reference accepts that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch

from kernelwright.judge.perturb.accepted import Chosen, Way, choose, mixed
from kernelwright.judge.perturb.index_collisions import with_collisions
from kernelwright.judge.perturb.integers import WAYS, resample_integers, skew_integers
from kernelwright.judge.perturb.patterns import kept, laid_out
from kernelwright.judge.perturb.values import (
    Distribution,
    Stretch,
    n_drawn,
    transform,
    vary_numbers,
    with_specials,
)
from kernelwright.judge.sandbox.layout import leaves, map_tensors

Accepts = Callable[[list[Any], list[Any]], bool]
"""Whether the reference takes the first arguments in place of the second."""
Run = Callable[[list[Any]], list[torch.Tensor]]


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

    def first_accepted(self, ways: Sequence[Way], turn: int = 0) -> list[Any]:
        """Change each tensor in the first of several ways that the reference accepts for it; all
        of them in the first way where it accepts none."""
        return self.task.first_accepted(self, ways, turn)


Perturb = Callable[[Source], list[Any]]
"""Makes the arguments of one check from a draw of the task's own."""


class Variation:
    """Finds out once which changes one reference accepts. A tensor that must not change keeps no
    other tensor from changing."""

    def __init__(self, accepts: Accepts, run: Run) -> None:
        self._accepts, self.run = accepts, run
        self._chosen: dict[tuple[Perturb, int], Chosen] = {}

    def perturbed(
        self,
        perturb: Perturb,
        own: list[Any],
        seed: int,
        *,
        fixed_integers: Sequence[bool] = (),
        again: Callable[[], list[Any]] = list,
    ) -> list[Any]:
        """Make the arguments of a draw from the task's ``own``; what does not change is shared."""
        return perturb(Source(own, seed, again, list(fixed_integers), self, perturb))

    def first_accepted(self, source: Source, ways: Sequence[Way], turn: int) -> list[Any]:
        ways = [cache(way) for way in ways]
        key = (source.perturb, turn)
        if key not in self._chosen:
            chosen = choose(source.own, ways, lambda changed: self._accepts(changed, source.own))
            self._chosen.setdefault(key, chosen)
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
    """Perturb floating-point inputs by a distribution.

    Where the reference does not accept it of a tensor, one of its ``stretches`` or of what comes
    ``instead`` is taken, and last the distribution with the sign that all numbers of the tensor
    have (prices before a logarithm). ``takes_turns``: what is accepted depends on which argument
    has its turn.
    """

    def perturb(source: Source) -> list[Any]:
        changed = partial(transform, source.own, seed=source.seed)
        ways: list[Way] = [partial(changed, change)]
        ways += [partial(changed, change, stretch=stretch) for stretch in stretches]
        ways += [partial(changed, other) for other in instead]
        ways.append(lambda: _with_signs(source.own, changed(change)))
        turn = source.seed % max(1, n_drawn(source.own)) if takes_turns else 0
        return source.first_accepted(ways, turn)

    return perturb


def _with_signs(own: list[Any], changed: list[Any]) -> list[Any]:
    """Return ``changed`` with the sign that all numbers of a tensor of the ``own`` have."""
    given = iter(leaves(own))

    def mend(x: torch.Tensor) -> torch.Tensor:
        before = next(given)
        if x is before or not x.is_floating_point():
            return x
        low, high = torch.aminmax(before)
        if bool(low >= 0):
            return laid_out(kept(before, x.abs()), x)
        return laid_out(kept(before, -x.abs()), x) if bool(high <= 0) else x

    return list(map_tensors(mend, changed))


def resampled(source: Source) -> list[Any]:
    """Integers and masks drawn anew from the task's own."""
    others = [] if any(source.fixed_integers) else source.again()
    change = partial(resample_integers, source.own, source.fixed_integers, source.seed)
    return source.first_accepted([partial(change, way, others=others) for way in WAYS])


def skewed(source: Source) -> list[Any]:
    """One number in half of the places of each integer tensor."""
    return source.first_accepted([partial(skew_integers, source.own, source.seed)])


def colliding(source: Source) -> list[Any]:
    """Some integers equal to what the reference compares them with."""
    return with_collisions(source.own, source.task.run, source.seed)


def special(source: Source) -> list[Any]:
    """NaN and both infinities in every floating-point tensor."""
    return with_specials(source.own, source.seed)


def other_numbers(source: Source) -> list[Any]:
    """Other Python floats among the arguments."""
    return vary_numbers(source.own, source.seed)
