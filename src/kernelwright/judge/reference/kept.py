"""Keeps inputs and expected results for later candidates, as far as memory allows."""

from __future__ import annotations

from typing import Any

import psutil
import torch

from kernelwright.judge.checks import Draw
from kernelwright.judge.sandbox.layout import bytes_of

SHARE = {"cpu": 0.15, "cuda": 0.05}
"""Share of the free memory, by kind of device; a GPU computes them again in milliseconds."""


class Kept(dict[tuple[str, Draw], Any]):
    """Keeps what is offered first: draws come in the same order for every candidate."""

    def __init__(self, device: str) -> None:
        kind = torch.device(device).type
        free_bytes = psutil.virtual_memory().available
        if kind != "cpu":
            free_bytes, _ = torch.cuda.mem_get_info(device)
        self._most_bytes = int(free_bytes * SHARE.get(kind, SHARE["cuda"]))

    def has_room(self, n_bytes: int) -> bool:
        """Whether so many bytes more may be kept."""
        return sum(map(bytes_of, self.values())) + n_bytes <= self._most_bytes

    def offer(self, key: tuple[str, Draw], value: Any) -> None:
        """Keep ``value`` in place of what was kept under this key, if there is room."""
        self[key] = value
        if not self.has_room(0):
            del self[key]
