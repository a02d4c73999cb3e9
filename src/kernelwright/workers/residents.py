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
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any, Literal, Protocol

ENDS_S = 5.0
"""Seconds that a process has to exit after its owner was killed."""

State = Literal["waiting", "running", "lost"]


class Resident(Protocol):
    """A process that keeps its state from one call to the next."""

    @property
    def state(self) -> State:
        """Whether it waits for a node with room, runs, or was lost with its node.

        A process that was killed by itself is known to be lost when it is called. On a node, an
        error with which it began is raised here.
        """

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Call a function in the process after the calls that were submitted before.

        The result raises what the function raises, and BrokenExecutor if the process was killed.
        """

    def shutdown(self) -> None:
        """End the process after the calls that were submitted."""


class LocalResident:
    """A process of this machine, which exits when this one does.

    It is spawned, since a fork would share the GPU.
    """

    state: State = "running"

    def __init__(self, begin: Callable[..., Any], *arguments: Any) -> None:
        """``begin`` is called once, before the first call."""
        self._process = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(begin, arguments),
        )

    def submit(self, call: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        try:
            return self._process.submit(call, *arguments)
        except BrokenExecutor as error:
            self.state = "lost"
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def shutdown(self) -> None:
        self._process.shutdown()


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
