"""Which changes a reference accepts: one that it does not accept keeps no other from being made."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from kernelwright.judge.sandbox.layout import leaves, map_tensors

Part = TypeVar("Part")
Way = Callable[[], list[Any]]
"""Makes the arguments, all changed in one way; tensors that it leaves alone are the same."""
Chosen = dict[int, int]
"""The number of the way chosen for each changed tensor, by its place among the arguments."""

MOST_TRIES = 8
"""Runs of the reference for one way of changing tensors: enough to single out any of four."""


def accepted_parts(
    parts: Sequence[Part], accepts: Callable[[list[Part]], bool], most_tries: int = MOST_TRIES
) -> list[Part]:
    """Find as many of the parts as are accepted together, by halving those that are not."""
    chosen: list[Part] = []
    waiting = [list(parts)] if parts else []
    for _ in range(most_tries):
        if not waiting:
            break
        some = waiting.pop()
        middle = len(some) // 2
        if accepts([*chosen, *some]):
            chosen += some
        elif middle:
            waiting += [some[:middle], some[middle:]]
    return chosen


def choose(own: list[Any], ways: Sequence[Way], accepts: Callable[[list[Any]], bool]) -> Chosen:
    """Find the first accepted way for each tensor, for as many tensors as are accepted together."""
    chosen: Chosen = {}
    given = before = leaves(own)
    for number, way in enumerate(ways):
        if len(chosen) == len(given):
            break
        now = leaves(way())
        pairs = enumerate(zip(before, now, strict=True))
        left = [place for place, (x, y) in pairs if not (place in chosen or torch.equal(x, y))]

        with_places = partial(_with_places, chosen, number)

        def is_accepted(places: list[int], to: Callable[[list[int]], Chosen] = with_places) -> bool:
            return accepts(mixed(own, ways, to(places)))

        chosen = with_places(accepted_parts(left, is_accepted))
        before = now
    return chosen


def _with_places(chosen: Chosen, number: int, places: list[int]) -> Chosen:
    return chosen | dict.fromkeys(places, number)


def mixed(own: list[Any], ways: Sequence[Way], chosen: Chosen) -> list[Any]:
    """Return the arguments with each tensor changed in the way that is ``chosen`` for it."""
    found = {number: leaves(ways[number]()) for number in set(chosen.values())}
    places = itertools.count()

    def pick(x: torch.Tensor) -> torch.Tensor:
        place = next(places)
        return found[chosen[place]][place] if place in chosen else x

    return list(map_tensors(pick, own))
