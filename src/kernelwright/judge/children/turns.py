"""Whose turn it is at a device: many judges build and check side by side, or one measures alone.

File locks, shared by all judges of a user on this machine:

- ``room``: shared by those who build or check, exclusive for the one who measures.
- ``line`` and ``door``: who wants to measure takes both first. Then nobody new enters the room, and
  those inside stop their children and leave it, so that measuring never waits for a build.
- ``hall`` and ``chairs``: parts of the device's memory, given out to one judge after the other.

Measuring begins when what the stopped children had started on the device is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelwright.judge.children import wire
from kernelwright.judge.children.locks import lock, locked, users_path

LOOK_S = 0.02
"""How often those inside look whether the door was closed, and those outside whether they may come
in and for a free chair."""
SETTLE_S, N_TRIES = 5.0, 5
"""How long the device may take to come to rest before others go on for a while, and how often; then
it is measured all the same."""
WORKS_ON_S = 20.0
"""What the device does for a process that stands still for so long is taken not to end."""


class Turns:
    """The turns at one device, by the name that all judges know it by.

    ``is_idle`` says whether the device has done all that was started on it, ``works_for`` whether
    it has worked for a process lately.

    Not covered:
        Other programs, and judges of other users.
    """

    def __init__(
        self,
        device: str,
        is_idle: Callable[[], bool] = lambda: True,
        works_for: Callable[[int], bool] = lambda pid: False,
    ) -> None:
        self._name = users_path(device.replace(":", "-"))
        self._line, self._door, self._room, self._hall, self._once_more = (
            Path(f"{self._name}-{part}.lock")
            for part in ("line", "door", "room", "hall", "once-more")
        )
        self._is_idle, self._works_for = is_idle, works_for
        self._alone: int | None = None
        """The thread of this judge's that is alone."""

    @contextlib.contextmanager
    def chairs(self, n_wanted: int, *, n_chairs: int) -> Iterator[None]:
        """Wait until ``n_wanted`` of the device's ``n_chairs`` are free, and hold them.

        One after the other is served, so that whoever needs many gets them at last.
        """
        paths = [Path(f"{self._name}-chair-{number}.lock") for number in range(n_chairs)]
        taken: dict[Path, int] = {}
        try:
            with locked(self._hall, fcntl.LOCK_EX):
                while len(taken) < min(n_wanted, n_chairs):
                    free = [path for path in paths if path not in taken]
                    found = next(filter(None, map(_taken, free)), None)
                    if found is None:
                        time.sleep(LOOK_S)
                    else:
                        taken |= found
            yield
        finally:
            for descriptor in taken.values():
                os.close(descriptor)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else builds, checks or measures, and keep it so.

        Whoever is alone already goes on.
        """
        if self._alone == threading.get_ident():
            yield
            return
        for n_left in reversed(range(N_TRIES)):
            with (
                locked(self._line, fcntl.LOCK_SH),
                locked(self._door, fcntl.LOCK_EX),
                locked(self._room, fcntl.LOCK_EX),
            ):
                if self._comes_to_rest() or n_left == 0:
                    self._alone = threading.get_ident()
                    try:
                        yield
                    finally:
                        self._alone = None
                    return
            time.sleep(1.0)

    def _comes_to_rest(self) -> bool:
        end_s = time.monotonic() + SETTLE_S
        while not self._is_idle():
            if time.monotonic() > end_s:
                return False
        return True

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Wait until nobody else judges a candidate once more: who took too much of the memory the
        first time would take it from the same ones again."""
        with locked(self._once_more, fcntl.LOCK_EX):
            yield

    @contextlib.contextmanager
    def beside(self) -> Iterator[Seat | None]:
        """A seat among those who build and check; one per thread, because the door may close.

        Whoever is alone needs none.
        """
        if self._alone == threading.get_ident():
            yield None
            return
        seat = Seat(self._line, self._door, self._room, self._works_for)
        seat.enter()
        try:
            yield seat
        finally:
            seat.leave()


class Seat:
    """A place among others, to be left for a while when it is wanted."""

    def __init__(
        self, line: Path, door: Path, room: Path, works_for: Callable[[int], bool]
    ) -> None:
        self._line, self._door, self._room = line, door, room
        self._works_for = works_for
        self._descriptor: int | None = None
        self.waited_s = 0.0
        """How long it has been left."""
        self._worked_on_s = 0.0
        """How long the device has worked, without a rest, for a process that stood still."""

    def enter(self, at_once: int = 0) -> None:
        """With ``at_once``, LOCK_NB: now, or BlockingIOError."""
        with locked(self._line, fcntl.LOCK_EX | at_once):
            pass  # nobody stands in line just now
        with locked(self._door, fcntl.LOCK_SH | at_once):
            self._descriptor = lock(self._room, fcntl.LOCK_SH | at_once)

    def leave(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_wanted(self) -> bool:
        """Whether somebody waits to measure."""
        try:
            os.close(lock(self._door, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError:
            return True
        return False

    def step_aside(self, pid: int) -> float:
        """Leave, and come back when whoever measures is done; this process stands still.

        Returns:
            The seconds in between.
        Raises:
            Late: the device works for the process all the same, and does not end.
        """
        start_s = time.monotonic()
        self.leave()
        while not self._is_in_again():
            # There may be somebody in line without an end: this is no time to wait for a turn.
            if self._has_worked_on(pid, time.monotonic() - start_s):
                told = f"the device worked for {WORKS_ON_S:.0f} s for it while it stood still"
                raise wire.Late(told)
            time.sleep(LOOK_S)
        away_s = time.monotonic() - start_s
        self.waited_s += away_s
        works_on = away_s > SETTLE_S and self._works_for(pid)
        self._worked_on_s = self._worked_on_s + away_s if works_on else 0.0
        return away_s

    def _is_in_again(self) -> bool:
        try:
            self.enter(fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _has_worked_on(self, pid: int, away_s: float) -> bool:
        return self._worked_on_s + away_s > WORKS_ON_S and self._works_for(pid)


def _taken(path: Path) -> dict[Path, int] | None:
    """The lock of this path, taken, with its descriptor; None if somebody else holds it."""
    try:
        return {path: lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)}
    except BlockingIOError:
        return None
