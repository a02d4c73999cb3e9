"""How long a process goes on after it was told to stop.

A signal stops a thread when it returns from the kernel. What it has the kernel do until then, as to
copy megabytes by one preadv(2), is work like any other, and was timed by nobody.
"""

from __future__ import annotations

import time

CPUCLOCK_SCHED = 2  # include/linux/posix-timers_types.h
GRACE_S = 50e-6
"""In which threads that compute, or wait in a loop, have stopped."""
LATE_NS = 100_000
"""Of processor time after that: no doubt is left."""


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
