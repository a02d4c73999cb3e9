"""Inputs of timed calls: new to the candidate, and as many as windows need.

They are drawn as the task draws them and kept for the next candidates, which have not seen them
either: each runs in a process of its own. Where drawing takes long, further ones are varied from
those: every floating-point number by up to a sixty-fourth, as far as the reference accepts that.
"""

from __future__ import annotations

import functools
import secrets
import time
from dataclasses import dataclass
from typing import Any

from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.perturb.fixed import Fixed, find_variable, renew
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.ring import Form, Packed

DRAWING_S, SLOW_S = 1.0, 3e-3
"""The time that one judge takes to draw inputs of timed calls; those beyond are varied if a draw
takes longer than the second, for varying takes some time too."""
FEWEST_DRAWN = 2
KEPT_SHARE = 0.02
"""The share of the device's memory in which they are kept for the next candidates."""


@dataclass(frozen=True)
class TimedInput:
    """The inputs of one timed call."""

    draw: Draw
    arguments: list[Any]
    """Not to be written to."""
    packed: Packed | None
    """The same in one piece; None where memory is scarce."""


class TimedInputs:
    """Makes the inputs of timed calls, by number."""

    def __init__(self, oracle: Oracle, room_bytes: float) -> None:
        """``room_bytes``: the memory in which they may be kept."""
        self._oracle, self._secret = oracle, secrets.randbits(63)
        self.form = Form(oracle.first_arguments, oracle.example)
        self._n_kept_most = int(room_bytes // max(1, self.form.input_bytes))
        self._kept: dict[int, TimedInput] = {}
        self._drawing_s, self._n_drawn = 0.0, 0

    @functools.cached_property
    def may_share_windows(self) -> bool:
        """True if there is room, and all draws have the same shapes, and the same values besides
        tensors: the calls of a window need that."""
        if self._n_kept_most < FEWEST_DRAWN:
            return False
        packed = [self.of(number).packed for number in range(FEWEST_DRAWN)]
        return all(one is not None and one.slots == self.form.slots for one in packed)

    def of(self, number: int) -> TimedInput:
        """The inputs of this number."""
        if number not in self._kept:
            made = self._made(number)
            if len(self._kept) >= self._n_kept_most:
                return made
            self._kept[number] = made
        return self._kept[number]

    def _made(self, number: int) -> TimedInput:
        seed = derive_seed(self._secret, number)
        draw = Draw(TASK, seed)
        if not self._is_slow() or not self._bases or not any(self._variable.which):
            start_s = time.monotonic()
            arguments = self._oracle.arguments(draw)
            self._drawing_s += time.monotonic() - start_s
            self._n_drawn += 1
        else:
            base = self._bases[number % len(self._bases)]
            arguments = renew(base.arguments, self._variable, seed)
        if self._n_kept_most < FEWEST_DRAWN:
            return TimedInput(draw, arguments, None)
        packed = Packed(arguments)
        return TimedInput(draw, packed.arguments, packed)

    def _is_slow(self) -> bool:
        """True if drawing has taken long enough."""
        return self._drawing_s > max(DRAWING_S, SLOW_S * self._n_drawn)

    @functools.cached_property
    def _bases(self) -> list[TimedInput]:
        """Inputs that were drawn, from which others are varied."""
        return list(self._kept.values())

    @functools.cached_property
    def _variable(self) -> Fixed:
        """The tensors that may be varied."""
        return find_variable(self._oracle.first_arguments, self._oracle.forward.run_unseeded)
