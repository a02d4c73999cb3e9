"""The time for which a process goes on after it was told to stop.

A signal stops a thread when it returns from the kernel. Work that the kernel does for it until
then, such as copying megabytes in one preadv(2), is work like any other, and would be timed by
nobody.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.refusal import Refused

CPUCLOCK_SCHED = 2  # include/linux/posix-timers_types.h
GRACE_S = 50e-6
"""Threads that compute, or wait in a loop, have stopped within this time."""
LATE_NS = 100_000
"""Processor time after the grace period that leaves no doubt."""
MOST_READ_ON = 2
"""A process is refused when it has run this often while its outputs were read. Once may be an
accident: a virtual machine may have stood still."""
FEWEST_EARLY, EARLY_SHARE = 3, 0.05
"""A process is refused when it ran before this many of its calls, and before this share of them.
That time is added to the calls', so nothing is gained by a few. A kernel accounts a thread's time
since the last tick when the thread leaves its core, which on a busy machine may be long after the
thread was reported to stand still."""


def processor_ns(pid: int) -> int:
    """The processor time that all threads of a process have had, ended ones included.

    Source:
        MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers_types.h.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)
    except OSError:
        return 0


class StoppedClock:
    """A process's clock of processor time around the moment when it was stopped."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._grace_ns = 0
        self.rest_ns = 0
        """Its value when the process last stood still."""

    def note_grace(self) -> None:
        """Call this after the signal: from now on a process that still runs is late."""
        time.sleep(GRACE_S)
        self._grace_ns = processor_ns(self._pid)

    def note_rest(self) -> None:
        """Call this when the process is known to stand still."""
        self.rest_ns = processor_ns(self._pid)

    def late_ns(self, stood_ns: int) -> int:
        """The time to add to a call that was stopped ``stood_ns`` ago."""
        return late_ns(self.rest_ns - self._grace_ns, stood_ns)


def late_ns(ran_ns: int, stood_ns: int) -> int:
    """The time to add to a call whose process ran for ``ran_ns``, in all threads together, between
    the grace period and its standstill, and was told to stop ``stood_ns`` ago."""
    return min(ran_ns, stood_ns) if ran_ns > LATE_NS else 0


@dataclass
class RanOn:
    """Counts how often a process ran while it should have stood still: a SIGCONT that its own
    timers send undoes a stop."""

    n_early: int = 0
    n_read_on: int = 0

    def count(self, n_calls: int, early_ns: int, read_on_ns: int) -> None:
        """Count the last of ``n_calls``: the processor time before its request to run, and while
        its outputs were read.

        Raises:
            Refused: it happens too often to be an accident.
        """
        self.n_early += early_ns > LATE_NS
        self.n_read_on += read_on_ns > LATE_NS
        is_early = self.n_early >= FEWEST_EARLY and self.n_early > EARLY_SHARE * n_calls
        if is_early or self.n_read_on >= MOST_READ_ON:
            raise Refused(ReasonCode.RAN_ON, "it ran on while it was to stand still")
