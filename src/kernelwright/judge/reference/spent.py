"""A stopwatch for work whose neighbours do not count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Spent:
    """Adds up the seconds spent inside its contexts, which decorate functions too.

    The smaller of wall time and processor time counts, so that time taken by other processes does
    not.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        start = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            took = time.monotonic() - start[0], time.process_time() - start[1]
            self.seconds += min(took)
