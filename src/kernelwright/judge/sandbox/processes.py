"""Processes as /proc shows them: whether they live or are stopped, and which are below which.

A process whose first thread has exited is shown as a zombie in ``/proc/PID/stat``, without memory
and files, although its other threads go on.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from pathlib import Path

import psutil

GONE = b"ZX"
TRIES = 10


def living_thread(pid: int) -> int | None:
    """A living thread of a process, which shows the process's memory and files under
    ``/proc/PID/task``; None if no thread lives."""
    threads: list[int] = []
    for _ in range(TRIES):  # threads that end meanwhile may have started others
        try:
            threads = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
        except OSError:
            return None
        states = [_state(f"/proc/{pid}/task/{thread}") for thread in threads]
        for thread, state in zip(threads, states, strict=True):
            if state and state not in GONE:
                return thread
        if all(states):
            return None
    return threads[0] if threads else None


def is_stopped(pid: int) -> bool:
    """True if the first thread of a process was stopped by a signal."""
    return _state(f"/proc/{pid}") == b"T"


def is_still(pid: int) -> bool:
    """True if a process has been stopped by a signal, in all of its threads, or has ended."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    states = [_state(f"/proc/{pid}/task/{thread}") for thread in threads]
    return all(state in b"T" + GONE for state in states)  # b"", of an ended one, is in it


def below(*pids: int) -> list[int]:
    """All descendants of these processes, dead ones included."""
    parents = {int(name): parent_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    found: list[int] = []
    layer = set(pids)
    while layer := {child for child, parent in parents.items() if parent in layer}:
        found += layer
    return found


def beside(pid: int) -> list[int]:
    """The living processes below this one's parent, except itself."""
    above = parent_of(pid)
    found = [] if above is None else below(above)
    return [other for other in found if other != pid and living_thread(other) is not None]


def parent_of(pid: int) -> int | None:
    """The parent of a process; None if there is no such process."""
    fields = _fields(f"/proc/{pid}")
    return int(fields[1]) if fields else None


def processor_s(*roots: int) -> float:
    """The processor time of processes and all below them, in seconds, with that of ended children
    whose end their parents waited for."""
    spent_s = 0.0
    for pid in {*roots, *below(*roots)}:
        with contextlib.suppress(psutil.Error):
            spent_s += sum(psutil.Process(pid).cpu_times()[:4])
    return spent_s


def faulted_bytes(pid: int) -> int:
    """The memory that a process has touched for the first time since it started, a page for every
    minor fault; 0 if there is no such process."""
    fields = _fields(f"/proc/{pid}")
    return int(fields[7]) * mmap.PAGESIZE if fields else 0


def _state(at: str) -> bytes:
    """The letter of a process's or thread's state; empty if it has ended."""
    return (_fields(at) or [b""])[0]


def _fields(at: str) -> list[bytes]:
    """The fields of proc_stat(5) after the name in parentheses; none if it has ended."""
    try:
        return Path(at, "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
