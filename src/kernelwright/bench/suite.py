"""A suite of tasks: one search each in a process of its own, resumed from the archive."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.archive import Archive, Run
from kernelwright.bench import known
from kernelwright.bench.processes import (
    INTERRUPTED,
    Work,
    in_a_process,
    search_task,
    size_task,
    survey_task,
)
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Nursery, WarmProgram
from kernelwright.judge.machine.here import Here
from kernelwright.judge.machine.place import place_of
from kernelwright.report.chapter import Chapter
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.lanes import WHOLE, Free, Lane
from kernelwright.workers.side_by_side import side_by_side

LARGE_SHARE = 0.3
"""Of a device's memory, that a task takes: no more than two of them can be judged side by side."""
SIZE_LIMIT_S = 20.0


@dataclass(frozen=True)
class Outcome:
    """What became of one task of a suite: a chapter of the archive, an error, or neither."""

    entry: SuiteEntry
    chapter: Chapter | None = None
    """Absent where nothing was judged."""
    error: dict[str, Any] | None = None
    """What, seen, do: why the search did not come to its end."""
    ended: Mapping[str, Any] | None = None
    """What the search said at its end: why nothing was proposed, how fast the device copies."""
    was_run: bool = True
    """False where the time for the whole suite was over before its turn, or Ctrl-C ended its search
    before anything was judged: the same call goes on with it."""
    earlier: Run | None = None
    """The search that the archive holds and that made another one needless."""


def run(
    entries: Sequence[SuiteEntry], *, settings: Settings, lanes: Sequence[Lane] = (WHOLE,),
    limit_s: float, total_s: float = float("inf"),
    on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:  # fmt: skip
    """Search every task that the archive does not hold yet; the outcomes in the suite's order.

    In every lane one search goes on at a time, on its GPU and its cores from start to end; the
    judge's lock on a device keeps measuring on it apart. A search that takes longer than
    ``limit_s`` is stopped, and none is begun after ``total_s``. Tasks that need much of a device's
    memory come last; of those the library is timed first, and where it is as fast as a copy nothing
    is searched. Ctrl-C stops the searches; what they found stays, and the same call goes on from
    there.

    Raises:
        DeviceError: this machine has no such device.
    """
    entries = [replace(e, task=e.task.in_precision(settings.precision)) for e in entries]
    device = resolve(Device.parse(settings.device))
    here = Here.of(device, settings, n_cores=len(lanes[0].cores))
    Archive(settings.archive).close()  # made once, before several processes open it
    last_start = time.monotonic() + total_s
    locks = {id(entry): threading.Lock() for entry in entries}
    free = Free(lanes)

    def is_due(entry: SuiteEntry) -> bool:
        is_searched = known.search_of(entry.task, settings, here) is not None
        return not is_searched and time.monotonic() < last_start

    def in_a_lane(work: Work, entry: SuiteEntry) -> Any:
        with free.one() as lane:
            return in_a_process(work, entry.task, settings, limit_s, nursery, lane)

    def survey(entry: SuiteEntry) -> None:
        with locks[id(entry)]:
            if is_due(entry):
                in_a_lane(survey_task, entry)

    def search(entry: SuiteEntry) -> Outcome:
        with locks[id(entry)]:
            earlier = known.search_of(entry.task, settings, here)
            was_run = earlier is not None or time.monotonic() < last_start
            error = in_a_lane(search_task, entry) if was_run and earlier is None else None
        return _outcome(Outcome(entry, None, error, None, was_run, earlier), settings, here)

    def work(step: tuple[Callable[[SuiteEntry], Outcome | None], SuiteEntry]) -> Outcome | None:
        return step[0](step[1])

    def tell(outcome: Outcome | None) -> None:
        if outcome is not None:
            on_done(outcome)

    with WarmProgram() as nursery:
        small, large = _by_size(mixed(entries), settings, nursery, is_due)
        steps = [(search, e) for e in small] + [(survey, e) for e in large]
        steps += [(search, e) for e in large]
        found = side_by_side(work, steps, jobs=len(lanes), on_done=tell)
    outcomes = {id(outcome.entry): outcome for outcome in found if outcome is not None}
    return [outcomes.get(id(entry), Outcome(entry, was_run=False)) for entry in entries]


def _outcome(found: Outcome, settings: Settings, here: Here) -> Outcome:
    """With what the archive says; who was interrupted before anything was judged was not run."""
    told = known.chapter(found.entry.task, settings, here)
    if told is None and found.error == INTERRUPTED:
        return Outcome(found.entry, was_run=False)
    return replace(found, chapter=told, ended=known.ended(found.entry.task, settings, here))


def _by_size(
    entries: list[SuiteEntry], settings: Settings, nursery: Nursery,
    is_due: Callable[[SuiteEntry], bool],
) -> tuple[list[SuiteEntry], list[SuiteEntry]]:  # fmt: skip
    """Those that take little of the device's memory, and those that take much of it."""

    def is_large(entry: SuiteEntry) -> bool:
        told = is_due(entry) and in_a_process(
            size_task, entry.task, settings, SIZE_LIMIT_S, nursery
        )
        return isinstance(told, int) and told > LARGE_SHARE * place.memory_bytes()

    place = place_of(resolve(Device.parse(settings.device)))
    if place.most_judges is None:
        return entries, []
    answers = side_by_side(is_large, entries, jobs=len(os.sched_getaffinity(0)))
    if None in answers:
        raise KeyboardInterrupt  # which side_by_side has taken: the searches are not wanted either
    pairs = list(zip(entries, answers, strict=True))
    return [e for e, is_it in pairs if not is_it], [e for e, is_it in pairs if is_it]


def mixed(entries: Sequence[SuiteEntry]) -> list[SuiteEntry]:
    """The tasks with levels in turns: where time ends early every level has had its share, and
    tasks with much memory stand beside others with little."""
    sizes = Counter(entry.level for entry in entries)
    seen: Counter[str] = Counter()
    keys = []
    for entry in entries:
        seen[entry.level] += 1
        keys.append(seen[entry.level] / sizes[entry.level])
    return [entry for _, entry in sorted(zip(keys, entries, strict=True), key=lambda pair: pair[0])]
