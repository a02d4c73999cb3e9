"""The cores on which the judge and its children run while something is timed."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Collection, Iterator

import torch

REAL_TIME = os.SCHED_RR | os.SCHED_RESET_ON_FORK  # sched(7)


def use_threads(n_threads: int) -> None:
    """Let torch use so many threads in this thread; other threads of the program keep theirs.

    Source:
        at::get_num_threads (aten/src/ATen/ParallelOpenMP.cpp) asks OpenMP, which keeps a number for
        each thread; torch.set_num_threads also sets that of threads that start later.
    """
    getattr(ctypes.CDLL(None), "omp_set_num_threads", torch.set_num_threads)(n_threads)


def lead(on: bool) -> bool:
    """Give this thread priority over the children that it times; whether this machine allows it."""
    try:
        policy, priority = (os.SCHED_FIFO, 2) if on else (os.SCHED_OTHER, 0)
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError:
        return False
    return True


def prioritise(pid: int) -> None:
    """Let a process's threads run before other programs, where this machine allows it.

    Threads that it starts later do not inherit this. The kernel keeps 5 % of the time for other
    programs (sched_rt_runtime_us), so a hang stops nobody.
    """
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(thread), REAL_TIME, os.sched_param(1))


@contextlib.contextmanager
def on_last_core() -> Iterator[None]:
    """Keep this thread on the last core, first in line, and let the judge's torch use no other.

    A child's main thread then finds the first core free when it is woken (cpu.spread_threads
    puts its other threads on the others), and the judge looks as soon as it says that it is done.
    The threads of an OpenMP pool spin for milliseconds after their work, so the judge starts none.

    Not for a judge that polls: two polling judges on one core would keep each other from running.
    """
    threads, cores = torch.get_num_threads(), os.sched_getaffinity(0)
    use_threads(1)
    os.sched_setaffinity(0, {max(cores)})
    lead(True)
    try:
        yield
    finally:
        lead(False)
        use_threads(threads)
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def gathered(pids: Collection[int]) -> Iterator[None]:
    """Keep the main threads of these processes on the first core, where this machine allows it, and
    this thread, which polls, off it. With only one core this does nothing.

    A short call on a GPU is mostly the launching, and how long that takes hangs on the core: on one
    each 86 % of the intervals of a module against itself held 1, all on one 96 % (360 of calls of
    0.2 to 0.6 ms, H200). Threads that they start meanwhile are on that core too.
    """
    cores = os.sched_getaffinity(0)
    first = {min(cores)}
    if cores == first:
        yield
        return
    os.sched_setaffinity(0, cores - first)
    _place_on(pids, first)
    try:
        yield
    finally:
        _place_on(pids, cores)
        os.sched_setaffinity(0, cores)


def _place_on(pids: Collection[int], cores: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(pid, cores)
