"""CPU cores of a host that several programs share: each core belongs to one at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from kernelwright.judge.sandbox.child import POLL_S
from kernelwright.judge.sandbox.file_locks import lock, lock_folder, locked


@contextlib.contextmanager
def own_cores(n_wanted: int) -> Iterator[tuple[int, ...]]:
    """Wait until ``n_wanted`` of this process's cores are free, hold them, and yield their numbers.

    A cluster counts cores, and does not say which of them a piece of work has. Those who wait are
    served one after the other, so that none waits for cores that another waiting one holds.
    """
    usable = sorted(os.sched_getaffinity(0))
    n_wanted = min(n_wanted, len(usable))
    prefix = lock_folder() / f"kernelwright-{os.getuid()}-core"
    held: list[int] = []
    with contextlib.ExitStack() as stack:
        with locked(prefix.with_name(f"{prefix.name}s.lock"), fcntl.LOCK_EX):
            while len(held) < n_wanted:
                for core in (core for core in usable if core not in held):
                    if len(held) < n_wanted:
                        path = prefix.with_name(f"{prefix.name}-{core}.lock")
                        with contextlib.suppress(BlockingIOError):
                            stack.callback(os.close, lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB))
                            held.append(core)
                if len(held) < n_wanted:
                    time.sleep(POLL_S)
        yield tuple(held)
