"""Deadlines for the answers of a child."""

from __future__ import annotations

import time

from kernelwright.core.errors import DeviceError
from kernelwright.judge.sandbox.processes import parent_of, processor_s
from kernelwright.judge.sandbox.protocol import Late

BUSY_SHARE = 0.05
"""The share of one core below which a build hangs. At a load of 15 on two cores it gets 0.13."""
CROWDED_TIMES = 5
"""A build may take this many times its limit by the wall clock, if it gets too little of a core."""


class Deadline:
    """A limit by the wall clock."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s

    def left_s(self) -> float:
        return max(0.0, self._end_s - time.monotonic())

    def put_off(self, by_s: float) -> None:
        """The child was kept from working for so long."""
        self._end_s += by_s

    def check(self) -> None:
        """Raise Late if the time is over."""
        if not self.left_s():
            raise Late


class BuildDeadline(Deadline):
    """A limit on the processor time that a child's processes take, compilers included.

    It never ends a build before ``limit_s`` by the wall clock, unless that hangs: it does if it
    takes next to no processor time for ``hang_s``.
    """

    def __init__(self, pid: int, limit_s: float, hang_s: float) -> None:
        super().__init__(hang_s)
        self._limit_s, self._hang_s = limit_s, hang_s
        self._root = parent_of(pid) or pid  # the supervisor, which adopts orphans
        self._start_s = self._seen_s = processor_s(self._root)
        self._waited_s = 0.0

    def check(self) -> None:
        """Look at the processes whenever ``hang_s`` has passed.

        Raises:
            Late: the time is over, or it hangs.
            DeviceError: it gets so little of the machine that it comes to no end.
        """
        if self.left_s():
            return
        self._waited_s += self._hang_s
        before_s, self._seen_s = self._seen_s, processor_s(self._root)
        spent_s = self._seen_s - self._start_s
        if self._seen_s - before_s < BUSY_SHARE * self._hang_s:
            raise Late(f"it hangs: next to no processor time in {self._hang_s:.0f} s")
        if self._waited_s >= self._limit_s <= spent_s:
            raise Late(f"no answer within {self._limit_s:.0f} s of processor time")
        if self._waited_s >= CROWDED_TIMES * self._limit_s:
            raise DeviceError(
                "this machine is too busy to build a candidate",
                seen=f"{spent_s:.0f} s of processor time in {self._waited_s:.0f} s",
                do="end other programs, or run fewer searches at a time",
            )
        self._end_s += self._hang_s
