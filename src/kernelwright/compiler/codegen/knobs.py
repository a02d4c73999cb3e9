"""Knobs: the choices that an emitter declares for a step as data, and the moves between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Choice = Mapping[str, Any]
"""The value of every knob of one step, by name."""


@dataclass(frozen=True)
class Knob:
    """One choice, with the values that it may have.

    Ordered values are numbers from the least to the largest, and a search moves to the next ones.
    Others are alternatives, all one move apart.
    """

    name: str
    values: tuple[Any, ...]
    is_ordered: bool = True

    def near(self, value: Any) -> Iterator[Any]:
        """Yield the values one move away from ``value``, which need not be one of them."""
        if not self.is_ordered:
            yield from (other for other in self.values if other != value)
            return
        yield from [other for other in self.values if other > value][:1]
        yield from [other for other in self.values if other < value][-1:]


@dataclass(frozen=True)
class StepSpace:
    """The knobs of one step, those that matter most first, and which points are legal."""

    knobs: tuple[Knob, ...]
    is_legal: Callable[[Choice], bool] = lambda choice: True
    settled: Callable[[Choice], Choice] = dict
    """Returns a choice with the values that follow from others, such as blocks of whole tiles."""

    def moves(self, choice: Choice) -> Iterator[Choice]:
        """Yield the legal choices that differ from ``choice`` in one knob; a knob that a choice
        lacks has no meaning for it."""
        for knob in self.knobs:
            if knob.name not in choice:
                continue
            for value in knob.near(choice[knob.name]):
                moved = self.settled({**choice, knob.name: value})
                if moved != choice and self.is_legal(moved):
                    yield moved


def powers_of_two(least: int, most: int) -> tuple[int, ...]:
    """Return the powers of two from ``least`` to ``most``, both of which are such powers."""
    return tuple(1 << n for n in range(least.bit_length() - 1, most.bit_length()))
