"""How much time something takes of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Spent:
    """The seconds of all that has run within: of the wall or of processors, the fewer, because
    what neighbours take is not its own. Its contexts decorate functions, too."""

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
