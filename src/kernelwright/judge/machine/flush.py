"""Cold caches: what is read before a call so that it finds nothing of its own there."""

from __future__ import annotations

import torch

from kernelwright.judge.machine.place import Place


class CacheFlush:
    """Reads a buffer of twice the last-level cache, so that the next call starts cold.

    Reading leaves nothing to be written back while the next call runs.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        n_bytes = 2 * place.last_level_cache_bytes()
        self.buffer = torch.zeros(n_bytes // 4, dtype=torch.float32, device=place.name)

    def __call__(self) -> None:
        self.buffer.sum()
        self.place.settle()
