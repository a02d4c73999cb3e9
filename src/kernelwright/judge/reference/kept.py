"""Bounds for what the reference costs: the memory of kept results, and the seconds of its runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import torch

from kernelwright.judge.checks import Draw
from kernelwright.judge.compare.expected import Expected
from kernelwright.judge.sandbox.layout import bytes_of

SHARE = {"cpu": 0.15, "cuda": 0.05}
"""Share of the free memory, by kind of device; a GPU computes them again in milliseconds."""


class Kept(dict[tuple[str, Draw], Any]):
    """Keeps inputs and expected results for later candidates, as far as memory allows: what is
    offered first, for draws come in the same order for every candidate."""

    def __init__(self, device: str) -> None:
        kind = torch.device(device).type
        free_bytes = psutil.virtual_memory().available
        if kind != "cpu":
            free_bytes, _ = torch.cuda.mem_get_info(device)
        self._most_bytes = int(free_bytes * SHARE.get(kind, SHARE["cuda"]))

    def has_room(self, n_bytes: int) -> bool:
        """Whether so many bytes more may be kept."""
        return sum(map(_bytes, self.values())) + n_bytes <= self._most_bytes

    def offer(self, key: tuple[str, Draw], value: Any) -> None:
        """Keep ``value`` in place of what was kept under this key, if there is room."""
        self[key] = value
        if not self.has_room(0):
            del self[key]


def _bytes(value: Any) -> int:
    return bytes_of(
        [dict(vars(one)) for one in value.outputs] if isinstance(value, Expected) else value
    )


class Spent:
    """Adds up the seconds spent inside its contexts, which decorate functions too.

    The smaller of wall time and processor time counts, so that time taken by other processes does
    not.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def __call__(self) -> Iterator[Callable[[], float]]:
        """Yield a function that says how many seconds this context has taken so far."""
        start = time.monotonic(), time.process_time()

        def took() -> float:
            return min(time.monotonic() - start[0], time.process_time() - start[1])

        try:
            yield took
        finally:
            self.seconds += took()
