"""Inputs are overwritten when a child signals that it is done: work that it put off finds none.

On a GPU kernels may run, or be started, after a child's answer. The judge stops the child, then
overwrites its inputs at a random place. Contexts take turns on a GPU, so this waits for kernels
that were started before; kernels that start later compute from the overwritten inputs.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import torch

WINDOW_BYTES = 32 << 20
"""The most that is overwritten, in some 20 µs; smaller inputs are overwritten as a whole."""
WORD_BYTES = 16
POISON = 0xFF  # NaN as a float of any width, -1 as an integer


class InputPoisoner:
    """Overwrites one call's inputs when it is called, and restores them when its context ends.

    Shapes:
        inputs: (n_bytes,) uint8, the memory that all inputs lie in.
    """

    def __init__(self, inputs: torch.Tensor, settle: Callable[[], None] = lambda: None) -> None:
        size = min(inputs.numel(), WINDOW_BYTES)
        start = secrets.randbelow((inputs.numel() - size) // WORD_BYTES + 1) * WORD_BYTES
        self._window = inputs[start : start + size]
        self._kept = torch.empty_like(self._window)
        self._is_kept, self._settle = False, settle

    def __enter__(self) -> InputPoisoner:
        return self

    def __call__(self) -> None:
        """Keep a copy, overwrite the inputs, and return when the device has done so."""
        self._kept.copy_(self._window)
        self._window.fill_(POISON)
        self._settle()
        self._is_kept = True

    def __exit__(self, *_: object) -> None:
        """Restore the copy: what the child wrote to its inputs before shows, later writes do
        not."""
        if self._is_kept:
            self._window.copy_(self._kept)
