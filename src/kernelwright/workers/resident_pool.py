"""Processes that stay and do the same work, each for tasks of its own; a lost one is replaced."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from kernelwright.core.errors import DeviceError
from kernelwright.workers.residents import Resident

TOGETHER_S = 120.0
"""Seconds for all processes to begin; then tasks are dealt to those that have."""
AWAY_S = 600.0
"""Seconds that tasks wait for a process, if none is left."""
LOOK_S = 0.2
_LOG = logging.getLogger("kernelwright")


class ResidentPool:
    """Deals tasks to processes. Threads may share it.

    A task stays with its process, which may keep something for it, until that process is lost. The
    one that takes its place may wait for a node with room meanwhile.
    """

    def __init__(self, make: Callable[[], Resident], n: int, *, away_s: float = AWAY_S) -> None:
        self._make = make
        self._residents = [make() for _ in range(n)]
        self._away_s = away_s
        self._together_by_s = time.monotonic() + TOGETHER_S
        self._of: dict[str, Resident] = {}
        """The process of each task, by the task's digest."""
        self._lock = threading.RLock()

    def find(self, task: str) -> Resident | None:
        """Return the process of a task; None while there is none to deal it to."""
        with self._lock:
            known = self._of.get(task)
            if known is not None and known.state != "lost":
                return known
            running = self._running()
            if not running:
                return None
            n_tasks = Counter(self._of.values())
            self._of[task] = found = min(running, key=lambda resident: n_tasks[resident])
            return found

    def wait_for(self, task: str) -> Resident:
        """Return the process of a task, as soon as there is one.

        Raises:
            DeviceError: there is none for ``AWAY_S``.
        """
        until_s = time.monotonic() + self._away_s
        has_told = False
        while (found := self.find(task)) is None:
            left_s = until_s - time.monotonic()
            if left_s < 0:
                raise DeviceError(
                    "no node has room to work on",
                    seen=f"none had any for {self._away_s / 60:.3g} min",
                    do="add a node, see `ray status`; the same command goes on",
                )
            if not has_told and time.monotonic() > self._together_by_s:
                _LOG.warning("no node has room to work on; waiting %.0f s for one", left_s)
                has_told = True
            time.sleep(LOOK_S)
        return found

    def replace(self, lost: Resident) -> None:
        """Begin another process in the place of a lost one; its tasks are dealt to others."""
        with self._lock:
            if lost not in self._residents:
                return  # another thread was faster
            self._residents[self._residents.index(lost)] = self._make()
            self._of = {task: one for task, one in self._of.items() if one is not lost}
        lost.shutdown()

    def share(self) -> None:
        """Let processes that have begun since take their share; call it between tasks."""
        with self._lock:
            n_tasks = Counter(self._of.values())
            is_idle = any(not n_tasks[resident] for resident in self._running())
            if is_idle and max(n_tasks.values(), default=0) > 1:
                self._of.clear()

    def shutdown(self, last: Callable[[], None]) -> None:
        """End all processes; those that have done something call ``last`` before."""
        with self._lock:
            used = set(self._of.values())
        for resident in self._residents:
            if resident in used:
                resident.submit(last)
            resident.shutdown()

    def _running(self) -> list[Resident]:
        """The processes that run; at the start none before all do, to deal tasks evenly."""
        for lost in [each for each in self._residents if each.state == "lost"]:
            self.replace(lost)
        found = [each for each in self._residents if each.state == "running"]
        if len(found) < len(self._residents) and time.monotonic() < self._together_by_s:
            return []
        if found:
            self._together_by_s = 0.0
        return found
