"""Inputs destroyed at the moment when a child says that it is done: work put off finds none.

On a GPU kernels may run, or be started, after a child's answer. The judge stops the child, then
overwrites what it had read, at a random place. Contexts take turns on a GPU, so this waits for
kernels that were started before; those that start later compute from the destroyed inputs.

Source:
    Measured on an H200: 155 µs beside an idle context, 268 µs where a kernel of 2 µs was pending.
"""

from __future__ import annotations

import secrets

import torch

from kernelwright.judge.machine.gate import WORD_BYTES
from kernelwright.judge.machine.place import Place

WINDOW_BYTES = 32 << 20
"""Destroyed at most, in some 20 µs; smaller inputs as a whole."""
RUBBISH = 0xFF  # NaN as a float of any width, -1 as a number


class Spoil:
    """One call's inputs, destroyed and later restored as they were then.

    Shapes:
        inputs: (n_bytes,) uint8, the memory that all inputs lie in.
    """

    def __init__(self, inputs: torch.Tensor, place: Place) -> None:
        size = min(inputs.numel(), WINDOW_BYTES)
        start = secrets.randbelow((inputs.numel() - size) // WORD_BYTES + 1) * WORD_BYTES
        self._window = inputs[start : start + size]
        self._kept = torch.empty_like(self._window)
        self._place = place

    def __call__(self) -> None:
        """Keep what is there, destroy it, and return when the device has done so."""
        self._kept.copy_(self._window)
        self._window.fill_(RUBBISH)
        self._place.settle()

    def restore(self) -> None:
        """Put back what was kept: what the child wrote to its inputs shows, but nothing later."""
        self._window.copy_(self._kept)


class Ambush(Spoil):
    """One that has the device from before the call on: what a child has put off waits behind it,
    however short it is. The call takes longer, and is not timed."""

    def __init__(self, inputs: torch.Tensor, place: Place) -> None:
        super().__init__(inputs[: inputs.numel() // WORD_BYTES * WORD_BYTES], place)
        self._gate = place.gate()
        self._is_kept = False
        self._gate.shut(self._window, self._kept)

    def __call__(self) -> None:
        self._is_kept = self._gate.open()

    def restore(self) -> None:
        if self._is_kept:  # or the call took longer than the gate waits, and nothing was destroyed
            super().restore()
