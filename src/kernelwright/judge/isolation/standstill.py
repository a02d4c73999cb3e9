"""How long a process goes on after it was told to stop.

A signal stops a thread when it returns from the kernel. What it has the kernel do until then, as to
copy megabytes by one preadv(2), is work like any other, and was timed by nobody.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.refusal import Refused

CPUCLOCK_SCHED = 2  # include/linux/posix-timers_types.h
GRACE_S = 50e-6
"""In which threads that compute, or wait in a loop, have stopped."""
LATE_NS = 100_000
"""Of processor time after that: no doubt is left."""
READ_ON = 2
"""Calls while whose outputs are read a process ran on: in one, a virtual machine may have stood
still."""
EARLY, EARLY_SHARE = 3, 0.05
"""Calls before which it ran on, and their share of all. That time is added to the call's, so that
nothing is gained. A kernel tells of a thread's time since the last tick when the thread leaves its
core, which on a busy machine may be long after it was said to stand still."""


def processor_ns(pid: int) -> int:
    """The processor time that all threads of a process have had, those that ended included.

    Source:
        MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers_types.h.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)
    except OSError:
        return 0


def calm_ns(pid: int) -> int:
    """What that clock shows when whoever can be stopped at once has stopped."""
    time.sleep(GRACE_S)
    return processor_ns(pid)


def late_ns(ran_ns: int, stood_ns: int) -> int:
    """What to add to the time of a call after which its process ran for ``ran_ns`` in all threads
    until it stood still, ``stood_ns`` after it was told to."""
    return min(ran_ns, stood_ns) if ran_ns > LATE_NS else 0


@dataclass
class RanOn:
    """How often a process ran on while it was to stand still. A signal to go on, which its own
    timers may send to it, undoes a stop."""

    n_early: int = 0
    n_read_on: int = 0

    def count(self, n_calls: int, early_ns: int, read_on_ns: int) -> None:
        """Count the last of so many calls: the processor time before its word to go, and while its
        outputs were read.

        Raises:
            Refused: it is no accident any more.
        """
        self.n_early += early_ns > LATE_NS
        self.n_read_on += read_on_ns > LATE_NS
        is_early = self.n_early >= EARLY and self.n_early > EARLY_SHARE * n_calls
        if is_early or self.n_read_on >= READ_ON:
            raise Refused(ReasonCode.RAN_ON, "it ran on while it was to stand still")
