"""Processes that stay: each is begun once, and is then called, one call after the other."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Protocol

ENDS_S = 5.0
"""Seconds that a process has to exit after its owner was killed."""


class Resident(Protocol):
    """A process that keeps its state from one call to the next."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call a function in the process after the calls that were submitted before.

        The result raises what the function raises, and BrokenExecutor if the process was killed.
        """

    def shutdown(self) -> None:
        """End the process after the calls that were submitted."""


def local_resident(begin: Callable[..., Any], *arguments: Any) -> Resident:
    """Return a process of this machine that calls ``begin`` once, and exits when this one does.

    It is spawned, since a fork would share the GPU.
    """
    return ProcessPoolExecutor(
        1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(begin, arguments),
    )


def _begin(begin: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))  # the owner reports the interrupt
    threading.Thread(target=_end_with_the_owner, daemon=True).start()
    begin(*arguments)


def _end_with_the_owner() -> None:
    """Wait for the owner to exit, then end this process and the children that it started."""
    owner = multiprocessing.parent_process()
    assert owner is not None
    multiprocessing.connection.wait([owner.sentinel])
    # The first interrupt may only end the current call, which the pool then takes for its result.
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(ENDS_S)
    os._exit(1)
