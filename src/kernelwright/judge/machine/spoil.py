"""Inputs destroyed at the moment when a child says that it is done: work put off finds none.

On a GPU kernels may run, or be started, after a child's answer. The judge stops the child, then
overwrites what it had read, at a random place. Contexts take turns on a GPU, so this waits for
kernels that were started before; those that start later compute from the destroyed inputs.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from kernelwright.judge.machine.gate import Gate

WINDOW_BYTES = 32 << 20
"""Destroyed at most, in some 20 µs; smaller inputs as a whole."""
WORD_BYTES = 16
RUBBISH = 0xFF  # NaN as a float of any width, -1 as a number


class Spoil:
    """One call's inputs: destroyed when it is called, restored as they were then at its end.

    Shapes:
        inputs: (n_bytes,) uint8, the memory that all inputs lie in.
    """

    def __init__(self, inputs: torch.Tensor, settle: Callable[[], None] = lambda: None) -> None:
        size = min(inputs.numel(), WINDOW_BYTES)
        start = secrets.randbelow((inputs.numel() - size) // WORD_BYTES + 1) * WORD_BYTES
        self._window = inputs[start : start + size]
        self._kept = torch.empty_like(self._window)
        self._is_kept, self._settle = False, settle

    def __enter__(self) -> Spoil:
        return self

    def __call__(self) -> None:
        """Keep what is there, destroy it, and return when the device has done so."""
        self._kept.copy_(self._window)
        self._window.fill_(RUBBISH)
        self._settle()
        self._is_kept = True

    def __exit__(self, *_: object) -> None:
        """Put back what was kept: what the child wrote to its inputs shows, but nothing later."""
        if self._is_kept:
            self._window.copy_(self._kept)


class Trap(Spoil):
    """One that a GPU does by itself, as soon as it has done what it is at; for who is alone there,
    because whoever waits for all of the device's work waits for this.

    ``in_ambush`` it has the device from before the call on: what a child has put off waits behind
    it, however short it is. The call takes longer, and is not timed.

    Source:
        Measured on an H200: of what a child has still running when it answers, all but 10 µs are
        seen in how long this takes; 50 µs are hidden where it is started at the answer.
    """

    def __init__(self, inputs: torch.Tensor, gate: Gate, *, in_ambush: bool) -> None:
        super().__init__(inputs)
        self._gate, self._in_ambush = gate, in_ambush
        self._is_open = False

    def __enter__(self) -> Spoil:
        self._gate.shut(self._window, self._kept, keeps_device=self._in_ambush)
        return self

    def __call__(self) -> None:
        self._is_open = True
        self._is_kept = self._gate.open()

    def __exit__(self, *_: object) -> None:
        if not self._is_open:  # no bell rang; the device would wait for ever
            self()
        super().__exit__()
