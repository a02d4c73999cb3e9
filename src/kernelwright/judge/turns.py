"""Whose turn it is at a device: many build and check side by side, or one measures alone.

Two locks, for all judges of a user on this machine. Who builds or checks holds the room with
others; who measures holds it alone. Who wants to measure closes the door first: nobody new comes
in, and those inside stop their children and step aside, so that measuring never waits for a build.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

LOOK_S = 0.05
"""How often those inside look whether the door was closed, and those outside for a free chair."""


class Turns:
    """The turns at one device.

    Not covered:
        Other programs, and judges of other users.
    """

    def __init__(self, device: str) -> None:
        name = f"kernelwright-{os.getuid()}-{device.replace(':', '-')}"
        self._name = Path(tempfile.gettempdir(), name)
        self._door, self._room = (Path(f"{self._name}-{part}.lock") for part in ("door", "room"))

    @contextlib.contextmanager
    def chair(self, n_chairs: int) -> Iterator[None]:
        """Wait until fewer than ``n_chairs`` judges work at this device, and be one of them."""
        chairs = [Path(f"{self._name}-chair-{number}.lock") for number in range(n_chairs)]
        while (taken := _first_free(chairs)) is None:
            time.sleep(LOOK_S)
        try:
            yield
        finally:
            os.close(taken)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else builds, checks or measures, and keep it so."""
        with _locked(self._door, fcntl.LOCK_EX), _locked(self._room, fcntl.LOCK_EX):
            yield

    @contextlib.contextmanager
    def beside(self) -> Iterator[Seat]:
        """A seat among those who build and check; one per thread, because the door may close."""
        seat = Seat(self._door, self._room)
        seat.enter()
        try:
            yield seat
        finally:
            seat.leave()


class Seat:
    """A place among others, to be left for a while when it is wanted."""

    def __init__(self, door: Path, room: Path) -> None:
        self._door, self._room = door, room
        self._descriptor: int | None = None
        self.waited_s = 0.0
        """How long it has been left."""

    def enter(self) -> None:
        with _locked(self._door, fcntl.LOCK_SH):
            self._descriptor = _lock(self._room, fcntl.LOCK_SH)

    def leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_wanted(self) -> bool:
        """Whether somebody waits to measure."""
        try:
            os.close(_lock(self._door, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError:
            return True
        return False

    def step_aside(self) -> float:
        """Leave, and come back when whoever measures is done.

        Returns:
            The seconds in between.
        """
        start_s = time.monotonic()
        self.leave()
        self.enter()
        away_s = time.monotonic() - start_s
        self.waited_s += away_s
        return away_s


def _first_free(paths: Iterable[Path]) -> int | None:
    """A descriptor that holds the first lock that nobody else holds."""
    for path in paths:
        with contextlib.suppress(BlockingIOError):
            return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return None


def _lock(path: Path, how: int) -> int:
    """A descriptor that holds the lock; closing it lets go, as being killed does."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    descriptor = _lock(path, how)
    try:
        yield
    finally:
        os.close(descriptor)
