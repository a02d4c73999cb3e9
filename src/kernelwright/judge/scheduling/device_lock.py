"""A lock on a device: many judges build and check there side by side, or one measures alone.

It consists of file locks that all judges of a user on this machine share:

- ``device``: held shared by those who build or check, exclusively by the one who measures.
- ``queue`` and ``entry``: a judge that wants to measure takes both first. Then nobody new gets the
  device, and those who share it stop their children and release it, so that measuring never waits
  for a build.
- ``slots`` and each ``slot``: parts of the device's memory, given to one judge after another.
- ``retry``: held by the judge that judges a candidate once more.

Measuring begins when the device has finished what the stopped children had started on it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from kernelwright.judge.sandbox.child import POLL_S, Child
from kernelwright.judge.sandbox.file_locks import lock, lock_folder, locked
from kernelwright.judge.sandbox.protocol import Late

SETTLE_S, N_TRIES = 5.0, 5
"""The device may take so long to come to rest before others go on for a while, so many times; then
it is measured all the same."""
PATIENCE_S = 30.0
"""A judge that needs many memory slots lets others pass for so long; searches of a suite take less,
and give theirs back meanwhile."""
ENDLESS_S = 20.0
"""Work that the device does for a process that has stood still for so long is taken not to end."""


class Sharing(Protocol):
    """A runner, as far as sharing a device is concerned."""

    child: Child

    def stand_still(self) -> None: ...


class DeviceLock:
    """The lock on one device, by the name that all judges know it by.

    ``is_idle`` says whether the device has finished everything that was started on it,
    ``works_for`` whether it has worked for a process lately. The locks are files in ``folder``, by
    default one that all processes of this host share.

    Not covered:
        Other programs, judges of other users, and judges in other containers.
    """

    def __init__(
        self,
        device: str,
        is_idle: Callable[[], bool] = lambda: True,
        works_for: Callable[[int], bool] = lambda pid: False,
        *,
        folder: Path | None = None,
    ) -> None:
        self._files = _LockFiles(folder or lock_folder(), device)
        self._is_idle, self._works_for = is_idle, works_for
        self._owner: int | None = None
        """The thread of this process that holds the lock exclusively."""

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until nobody else builds, checks or measures, and keep it so. A thread that holds
        the lock exclusively may enter again."""
        if self._owner == threading.get_ident():
            yield
            return
        files = self._files
        for n_left in reversed(range(N_TRIES)):
            with (
                locked(files.queue, fcntl.LOCK_SH),
                locked(files.entry, fcntl.LOCK_EX),
                locked(files.device, fcntl.LOCK_EX),
            ):
                if self._comes_to_rest() or n_left == 0:
                    self._owner = threading.get_ident()
                    try:
                        yield
                    finally:
                        self._owner = None
                    return
            time.sleep(1.0)

    @contextlib.contextmanager
    def shared(self, runner: Sharing | None = None) -> Iterator[SharedHold | None]:
        """Share the device with others, one hold per thread; None where this thread holds the lock
        exclusively.

        With a ``runner`` its child is stopped whenever somebody measures, and at the end.
        """
        hold = None
        if self._owner != threading.get_ident():
            hold = SharedHold(self._files, self._works_for)
            hold.acquire()
        try:
            if runner is not None:
                runner.child.hold = hold
            yield hold
            if runner is not None:
                runner.stand_still()
        finally:
            if runner is not None:
                runner.child.hold = None
            if hold is not None:
                hold.release()

    @contextlib.contextmanager
    def memory_slots(self, n_wanted: int, *, n_slots: int) -> Iterator[None]:
        """Wait until ``n_wanted`` of the device's ``n_slots`` are free, and hold them.

        A judge that waits lets others pass that need fewer. After PATIENCE_S it keeps every slot
        that comes free, and nobody else is served before it.
        """
        patient_until_s = time.monotonic() + PATIENCE_S
        slots = _Slots([self._files.slot(number) for number in range(n_slots)], n_wanted)
        try:
            while not slots.are_enough:
                with locked(self._files.slots, fcntl.LOCK_EX):
                    slots.take_free()
                    while not slots.are_enough and time.monotonic() > patient_until_s:
                        time.sleep(POLL_S)
                        slots.take_free()
                    if not slots.are_enough:
                        slots.give_back()
                time.sleep(0 if slots.are_enough else POLL_S)
            yield
        finally:
            slots.give_back()

    @contextlib.contextmanager
    def retrying(self) -> Iterator[None]:
        """Wait until nobody else judges a candidate once more: one that took too much memory the
        first time would take it from the same others again."""
        with locked(self._files.retry, fcntl.LOCK_EX):
            yield

    def _comes_to_rest(self) -> bool:
        end_s = time.monotonic() + SETTLE_S
        while not (is_idle := self._is_idle()) and time.monotonic() < end_s:
            pass
        return is_idle


class _Slots:
    """The slots that one judge holds of those that a device has."""

    def __init__(self, paths: Sequence[Path], n_wanted: int) -> None:
        self._paths, self._n_wanted = paths, min(n_wanted, len(paths))
        self._taken: dict[Path, int] = {}
        """The descriptors of those that it holds."""

    @property
    def are_enough(self) -> bool:
        return len(self._taken) >= self._n_wanted

    def take_free(self) -> None:
        """Take those that are free, until there are enough."""
        for path in self._paths:
            if path not in self._taken and not self.are_enough:
                with contextlib.suppress(BlockingIOError):
                    self._taken[path] = lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def give_back(self) -> None:
        while self._taken:
            _, descriptor = self._taken.popitem()
            os.close(descriptor)


class _LockFiles:
    """The paths of a device's lock files."""

    def __init__(self, folder: Path, device: str) -> None:
        self._prefix = folder / f"kernelwright-{os.getuid()}-{device.replace(':', '-')}"
        names = ("queue", "entry", "device", "slots", "retry")
        self.queue, self.entry, self.device, self.slots, self.retry = map(self._path, names)

    def slot(self, number: int) -> Path:
        return self._path(f"slot-{number}")

    def _path(self, part: str) -> Path:
        return Path(f"{self._prefix}-{part}.lock")


class SharedHold:
    """A thread's share of a device, which it gives up for a while whenever somebody measures."""

    def __init__(self, files: _LockFiles, works_for: Callable[[int], bool]) -> None:
        self._files = files
        self._works_for = works_for
        self._descriptor: int | None = None
        self.waited_s = 0.0
        """The time for which it was given up."""
        self._worked_on_s = 0.0
        """The time for which the device has worked for a process that stood still."""

    def acquire(self, nonblocking: int = 0) -> None:
        """Take it; with ``nonblocking``, LOCK_NB, now or BlockingIOError."""
        with locked(self._files.queue, fcntl.LOCK_EX | nonblocking):
            pass  # nobody waits to measure just now
        with locked(self._files.entry, fcntl.LOCK_SH | nonblocking):
            self._descriptor = lock(self._files.device, fcntl.LOCK_SH | nonblocking)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_wanted(self) -> bool:
        """True if somebody waits to measure."""
        try:
            os.close(lock(self._files.entry, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError:
            return True
        return False

    def step_aside(self, pid: int) -> float:
        """Release it and take it again when nobody measures any more; the process stands still.

        Returns:
            The seconds in between.
        Raises:
            Late: the device works for the process all the same, and does not end.
        """
        start_s = time.monotonic()
        self.release()
        while not self._is_back():
            # Others may measure without an end: a blocking wait would not notice the device.
            if self._has_worked_on(pid, time.monotonic() - start_s):
                seen = f"the device worked for {ENDLESS_S:.0f} s for it while it stood still"
                raise Late(seen)
            time.sleep(POLL_S)
        away_s = time.monotonic() - start_s
        self.waited_s += away_s
        works_on = away_s > SETTLE_S and self._works_for(pid)
        self._worked_on_s = self._worked_on_s + away_s if works_on else 0.0
        return away_s

    def _is_back(self) -> bool:
        try:
            self.acquire(fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _has_worked_on(self, pid: int, away_s: float) -> bool:
        return self._worked_on_s + away_s > ENDLESS_S and self._works_for(pid)
