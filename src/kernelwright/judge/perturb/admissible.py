"""Changes of the inputs that the reference takes: which of several ways to change each tensor.

One that it does not take is left out for that tensor alone; the others keep theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.judge.machine.layout import leaves, map_tensors

Way = Callable[[], list[Any]]
"""The arguments, all changed in one way; tensors that it leaves alone are the same."""
Chosen = dict[int, int]
"""By the places of tensors among the arguments, in which of several ways each is changed."""

MOST_TRIES = 8
"""Runs that find out which changes of one way are borne: of four tensors any of them."""


def choose(own: list[Any], ways: Sequence[Way], bears: Callable[[list[Any]], bool]) -> Chosen:
    """For as many tensors as it ``bears`` beside one another, the first way in which each is."""
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
    """Two of them; none of a single part."""
    middle = len(parts) // 2
    return [parts[:middle], parts[middle:]] if middle else []
