"""Which of several ways to change each tensor the reference accepts.

A tensor that it accepts no change of keeps its values; the others are changed all the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.judge.sandbox.layout import leaves, map_tensors

Way = Callable[[], list[Any]]
"""The arguments, all changed in one way; tensors that it leaves alone are the same."""
Chosen = dict[int, int]
"""The number of the way chosen for each changed tensor, by its place among the arguments."""

MOST_TRIES = 8
"""Runs of the reference for one way of changing tensors: enough to single out any of four."""


def choose(own: list[Any], ways: Sequence[Way], bears: Callable[[list[Any]], bool]) -> Chosen:
    """The first accepted way for each tensor, for as many tensors as are accepted together."""
    chosen: Chosen = {}
    given = before = leaves(own)
    for number, way in enumerate(ways):
        if len(chosen) == len(given):
            break
        now = leaves(way())
        pairs = enumerate(zip(before, now, strict=True))
        left = [place for place, (x, y) in pairs if not (place in chosen or torch.equal(x, y))]
        waiting = [left] if left else []
        for _ in range(MOST_TRIES):
            if not waiting:
                break
            places = waiting.pop()
            tried = chosen | dict.fromkeys(places, number)
            if bears(mixed(own, ways, tried)):
                chosen = tried
            else:
                waiting += halves(places)
        before = now
    return chosen


def mixed(own: list[Any], ways: Sequence[Way], chosen: Chosen) -> list[Any]:
    """The arguments with each tensor changed in the way that is ``chosen`` for it."""
    found = {number: leaves(ways[number]()) for number in set(chosen.values())}
    places = itertools.count()

    def pick(x: torch.Tensor) -> torch.Tensor:
        place = next(places)
        return found[chosen[place]][place] if place in chosen else x

    return map_tensors(pick, own)


def halves(parts: Sequence[Any]) -> list[Sequence[Any]]:
    """Two halves; none of a single part."""
    middle = len(parts) // 2
    return [parts[:middle], parts[middle:]] if middle else []
