"""Python's cyclic garbage collector, kept off where it would do harm."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Keep the collector off, as a capture of a CUDA graph needs it.

    CUDA does not allow a thread that captures to destroy an older graph, and the capture fails. A
    graph that is part of a cycle of references is destroyed whenever the collector runs.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
