"""Searches a suite of tasks, each in its own process; the archive lets it resume."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kernelwright.archive import Archive, Run
from kernelwright.bench import known
from kernelwright.bench.order import Order
from kernelwright.bench.processes import (
    INTERRUPTED,
    Work,
    in_a_process,
    search_task,
    size_task,
    survey_task,
)
from kernelwright.core.settings import Settings
from kernelwright.judge.devices.environment import Here
from kernelwright.report.chapter import Chapter
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Target, Workers

SIZE_LIMIT_S = 20.0
"""Seconds that finding out the size of a task may take."""


@dataclass(frozen=True)
class TaskOutcome:
    """The result of one task of a suite: a chapter of the report, an error, both or neither."""

    entry: SuiteEntry
    chapter: Chapter | None = None
    """The verdicts on the task's candidates; None if nothing was judged."""
    error: dict[str, Any] | None = None
    """The reason ('what', 'seen', 'do') why the search did not end."""
    ended: Mapping[str, Any] | None = None
    """Facts that the search ended with: why nothing was proposed, how fast the device copies."""
    was_run: bool = True
    """False if the time for the suite was over before the task's turn, or if Ctrl-C ended its
    search before anything was judged. The same call resumes with the task."""
    earlier: Run | None = None
    """The archived search that made another one unnecessary."""


def run(
    entries: Sequence[SuiteEntry],
    *,
    settings: Settings,
    workers: Workers,
    limit_s: float,
    total_s: float = float("inf"),
    on_done: Callable[[TaskOutcome], None] = lambda outcome: None,
) -> list[TaskOutcome]:
    """Search every task without an archived search; return the outcomes in the suite's order.

    Each search has a GPU or a share of it, and cores, to itself; the judge's device lock keeps
    timings on one device apart. A search is told that it is stopped after ``limit_s`` seconds, and
    none is begun after ``total_s``. Tasks that need much device memory run one at a time beside
    others; those that need most of it come last, and for them the library is timed before: if it is
    as fast as a copy nothing is searched. Ctrl-C stops the searches; their results are kept, and
    the same call resumes.

    Raises:
        DeviceError: there is no such device.
    """
    entries = [replace(e, task=settings.applied_to(e.task)) for e in entries]
    target = workers.target(settings)
    here = target.here
    Archive(settings.archive).close()  # created here, before several processes open it
    last_start = time.monotonic() + total_s
    locks = {id(entry): threading.Lock() for entry in entries}

    def is_due(entry: SuiteEntry) -> bool:
        return time.monotonic() < last_start and not known.search_of(entry.task, settings, here)

    def do(work: Work, entry: SuiteEntry) -> Any:
        return in_a_process(work, entry.task, settings, limit_s, workers)

    def survey(entry: SuiteEntry) -> None:
        with locks[id(entry)]:
            if is_due(entry):
                do(survey_task, entry)

    def search(entry: SuiteEntry) -> TaskOutcome:
        with locks[id(entry)]:
            earlier = known.search_of(entry.task, settings, here)
            was_run = earlier is not None or time.monotonic() < last_start
            work = partial(search_task, limit_s=limit_s)
            error = do(work, entry) if was_run and earlier is None else None
        return _outcome(TaskOutcome(entry, None, error, None, was_run, earlier), settings, here)

    with _sizes(mixed(entries), settings, target, workers, is_due) as share_of:
        order = Order(mixed(entries), share_of, workers.n_devices)
        found = side_by_side(
            lambda _: order.do_next(search, survey),
            range(2 * len(entries)),
            jobs=workers.jobs,
            on_done=partial(_tell, on_done),
            on_interrupt=workers.interrupt,
        )
    outcomes = {id(outcome.entry): outcome for outcome in found if outcome is not None}
    return [outcomes.get(id(entry), TaskOutcome(entry, was_run=False)) for entry in entries]


def _tell(on_done: Callable[[TaskOutcome], None], outcome: TaskOutcome | None) -> None:
    if outcome is not None:
        on_done(outcome)


def _outcome(found: TaskOutcome, settings: Settings, here: Here) -> TaskOutcome:
    """Add the archive's results; a search interrupted before any verdict counts as not run."""
    chapter = known.chapter(found.entry.task, settings, here)
    if chapter is None and found.error == INTERRUPTED:
        return TaskOutcome(found.entry, was_run=False)
    return replace(found, chapter=chapter, ended=known.ended(found.entry.task, settings, here))


@contextlib.contextmanager
def _sizes(
    entries: Sequence[SuiteEntry],
    settings: Settings,
    target: Target,
    workers: Workers,
    is_due: Callable[[SuiteEntry], bool],
) -> Iterator[Callable[[SuiteEntry], float | None]]:
    """Find out which share of the device's memory each entry needs, ahead of the searches and
    beside them.

    Yields a function that waits for the answer on one entry: zero if it is not known. After Ctrl-C
    it is None, so that no search begins.
    """
    memory_bytes = target.memory_bytes
    if memory_bytes is None:
        yield lambda entry: 0.0
        return
    is_interrupted = threading.Event()

    def share(entry: SuiteEntry) -> float | None:
        if not is_due(entry):
            return 0.0
        if is_interrupted.is_set():
            return None
        n_bytes = in_a_process(
            size_task, entry.task, settings, SIZE_LIMIT_S, workers, needs_device=False
        )
        if n_bytes == INTERRUPTED:
            is_interrupted.set()
            return None
        return n_bytes / memory_bytes if isinstance(n_bytes, int) else 0.0

    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 2)) as pool:
        answers = {id(entry): pool.submit(share, entry) for entry in entries}
        try:
            yield lambda entry: answers[id(entry)].result()
        finally:
            pool.shutdown(cancel_futures=True)


def mixed(entries: Sequence[SuiteEntry]) -> list[SuiteEntry]:
    """Interleave the levels of a suite.

    If time runs out, every level has had its share; and tasks that need much memory run beside
    tasks that need little.
    """
    sizes = Counter(entry.level for entry in entries)
    seen: Counter[str] = Counter()
    keys = []
    for entry in entries:
        seen[entry.level] += 1
        keys.append(seen[entry.level] / sizes[entry.level])
    return [entry for _, entry in sorted(zip(keys, entries, strict=True), key=lambda pair: pair[0])]
