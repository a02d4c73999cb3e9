"""What asks a command to stop: Ctrl-C, and SIGTERM, which ends it as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 128 + signal.SIGTERM  # what a shell says of a program that a signal ended


class Termination:
    """While the context lasts, SIGTERM raises KeyboardInterrupt in the main thread: once, so that
    what cleans up then is not interrupted too.

    Not covered:
        Where somebody handles or ignores it already, and outside the main thread.
    """

    def __init__(self) -> None:
        self.has_come = False
        self._is_ours = False

    def __enter__(self) -> Termination:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._interrupt)
            self._is_ours = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.has_come = True
        raise KeyboardInterrupt


@contextmanager
def held_back() -> Iterator[None]:
    """Neither comes before the end: in the midst of imports it may become another exception."""
    both = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
