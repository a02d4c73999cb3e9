"""The cores of this machine that a run may use."""

from __future__ import annotations

import os

from kernelwright.core.errors import UsageError


def usable_cores() -> int:
    """How many cores this process may use; where the system does not tell, all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fitting_threads(threads: int, what: str = "threads") -> int:
    """The number of threads, where this process may use as many cores; 0 stands for all of them.

    Raises:
        UsageError: it may not; ``what`` names the number.
    """
    n_cores = usable_cores()
    if not 0 <= threads <= n_cores:
        raise UsageError(
            f"{what} do not fit this machine",
            seen=f"{threads} threads, and {n_cores} cores that this process may use",
            do=f"give 1 to {n_cores} threads, or 0 for all cores",
        )
    return threads
