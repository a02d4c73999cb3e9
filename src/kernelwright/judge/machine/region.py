"""Memory that the judge shares with its children."""

from __future__ import annotations

import os
from typing import Any

import torch

from kernelwright.judge.machine.place import Place


class Region:
    """Memory that a child shares with the judge; several children, if they trust each other.

    Runners that share one take turns: every call is preceded by its arguments.
    """

    def __init__(self, place: Place, n_bytes: int) -> None:
        self._place = place
        self.fd, self.memory = place.share(n_bytes)

    def close(self) -> None:
        """Give the judge's side back; no tensor on it may be used any more."""
        if self.memory.numel():
            os.close(self.fd)
            self._place.unshare(self.memory)
            self.memory = self.memory.new_empty(0)


def contents(arguments: Any, weights: Any, like: list[torch.Tensor]) -> list[Any]:
    """What a region holds: arguments, weights, and outputs packed densely."""
    return [arguments, weights, [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in like]]
