"""Signals that stop a command: SIGTERM is handled like Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 128 + signal.SIGTERM
"""Exit code of a terminated command, as a shell reports it."""


class Termination:
    """Context in which SIGTERM raises KeyboardInterrupt in the main thread.

    It does so only once, so that a second SIGTERM does not interrupt the cleanup.

    Not covered:
        The context has no effect outside the main thread, or if SIGTERM is already handled or
        ignored.
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
    """Block SIGINT and SIGTERM until the end of the context.

    An interrupt in the middle of an import may turn into another exception.
    """
    both = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
