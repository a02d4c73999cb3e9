"""Where the wall time of a suite goes: when the parts of every search began and ended.

    python benchmarks/suite_timeline.py --suite kernelbench --path KernelBench --device cuda
                                        [--budget 4s] [--jobs N] [--total 80s] [--one NUMBER]
                                        [--spans FILE]

Searches the tasks side by side as `bench` does, and notes the parts of ``verdict_spans.py`` in
every search's process. Prints for each part how often it ran in a search, its seconds, median and
longest; contexts made a second; the searches one below the other; the processor's and the GPU's
busy shares; and all parts of search NUMBER.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from verdict_spans import PARTS

from kernelwright.archive import Archive
from kernelwright.bench.pace import Pace, line
from kernelwright.bench.processes import PRELOADED, search_task
from kernelwright.bench.suite import mixed
from kernelwright.core.settings import Settings, parse_seconds
from kernelwright.core.task import Task
from kernelwright.judge import Judge, SharedForkServer, SharedForkServerProcess
from kernelwright.judge.devices.gpu import GpuBackend
from kernelwright.judge.scheduling.device_lock import DeviceLock
from kernelwright.search.loop import _Search
from kernelwright.suites.suite import SuiteEntry, suite_entries
from kernelwright.tuner.proposer import TunedRules
from kernelwright.tuner.tuner import Tuner
from kernelwright.workers.in_process import in_process
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.slots import FreeSlots, WorkerSlot, gpus_of, worker_slots

MORE: dict[str, tuple[type, str]] = {
    "own context": (GpuBackend, "settle"),
    "rounds of proposals": (_Search, "run"),
    "winners measured again": (_Search, "confirm"),
    "one measured again": (Judge, "evaluate"),
    "tuner opened": (TunedRules, "_opened"),
    "trials": (Tuner, "run"),
    "last race": (Tuner, "finalists"),
}
CONTEXTS = ("own context", "child uses the device", "tuner's worker")
LEAST_S = 0.02
"""Shorter spans are not noted."""
WHOLE = "search"


class Log:
    """A file to which every process of a search adds its spans, a line each."""

    def __init__(self, path: Path, search: int) -> None:
        self._file, self._search = path.open("a"), search

    def add(self, name: str, start_s: float) -> None:
        end_s = time.monotonic()
        if end_s - start_s > LEAST_S:
            self._file.write(json.dumps([self._search, name, start_s, end_s]) + "\n")
            self._file.flush()

    def watch(self, name: str, owner: type, method: str) -> None:
        """Note every call of a method."""
        usual: Callable[..., Any] = getattr(owner, method)

        def noted(*arguments: Any, **named: Any) -> Any:
            start_s = time.monotonic()
            try:
                return usual(*arguments, **named)
            finally:
                self.add(name, start_s)

        setattr(owner, method, noted)

    def watch_lock(self, method: str) -> None:
        """Note how long a lock is waited for, and how long it is held."""
        usual = getattr(DeviceLock, method)

        @contextlib.contextmanager
        def noted(*arguments: Any, **named: Any) -> Iterator[Any]:
            start_s = time.monotonic()
            with usual(*arguments, **named) as held:
                self.add(f"waits for {method}", start_s)
                start_s = time.monotonic()
                try:
                    yield held
                finally:
                    self.add(f"holds {method}", start_s)

        setattr(DeviceLock, method, noted)


def search(
    task: Task, settings: Settings, path: Path, number: int, fork_server: SharedForkServer
) -> None:
    """Search one task in this process, and note its parts."""
    log = Log(path, number)
    for name, (owner, method) in {**PARTS, **MORE}.items():
        log.watch(name, owner, method)
    for method in ("exclusive", "memory_slots"):
        log.watch_lock(method)
    start_s = time.monotonic()
    try:
        search_task(task, settings, fork_server)
    finally:
        log.add(WHOLE, start_s)


def run(entries: list[SuiteEntry], settings: Settings, options: argparse.Namespace) -> None:
    """Search all entries, and print what was noted."""
    slots = worker_slots(settings.device, gpus=options.gpus, jobs=options.jobs)
    path, free = options.spans or Path(settings.out, "spans"), FreeSlots(slots)
    start_s = time.monotonic()
    last_s = start_s + parse_seconds(options.total)
    Archive(settings.archive).close()

    def one(numbered: tuple[int, SuiteEntry]) -> None:
        number, entry = numbered
        with free.take() as slot:
            left_s = last_s - time.monotonic()
            if left_s > 0:
                begin(partial(search, entry.task, settings, path, number), slot, left_s, entry)

    def begin(work: Callable[..., Any], slot: WorkerSlot, left_s: float, entry: SuiteEntry) -> None:
        ending = in_process(work, fork_server=server, slot=slot, limit_s=left_s, preload=PRELOADED)
        if ending.died or ending.error:
            print(f"{entry.name}: {ending.died or ending.error}")

    psutil.cpu_percent()
    with (
        SharedForkServerProcess() as server,
        Pace(settings.archive, gpus_of(slots, settings.device)) as pace,
    ):
        side_by_side(one, enumerate(mixed(entries)), jobs=len(slots))
    print(f"{line(pace.facts())}; processors {psutil.cpu_percent():.0f} % busy; {len(slots)} jobs")
    spans = [json.loads(text) for text in path.read_text().splitlines()]
    show(spans, start_s, options.one)


def show(spans: list[Any], start_s: float, one: int) -> None:
    """Print the spans: summed up by part, by search, and all of one search."""
    n_searches = len({number for number, *_ in spans})
    parts: dict[str, list[float]] = defaultdict(list)
    for _, name, begin_s, end_s in spans:
        parts[name].append(end_s - begin_s)
    print(f"{n_searches} searches; part: times a search, seconds a search, median, longest")
    for name, seconds in sorted(parts.items(), key=lambda item: -sum(item[1])):
        print(
            f"  {name}: {len(seconds) / n_searches:.1f} times, {sum(seconds) / n_searches:.2f} s, "
            f"{statistics.median(seconds):.2f}, {max(seconds):.2f}"
        )
    ends_s = [end_s for _, name, _, end_s in spans if name in CONTEXTS]
    print(f"{len(ends_s)} contexts, {len(ends_s) / (max(ends_s) - start_s):.2f} a second")
    for number, name, begin_s, end_s in spans:
        if name == WHOLE:
            print(f"  search {number}: {begin_s - start_s:.1f} to {end_s - start_s:.1f}")
    for number, name, begin_s, end_s in sorted(spans, key=lambda span: span[2]):
        if number == one and end_s - begin_s > 0.1:
            print(f"  {begin_s - start_s:6.2f} to {end_s - start_s:6.2f}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", default="builtin")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--problem", action="append", default=[])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", default="4s")
    parser.add_argument("--gpus", default="1")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--total", default="1h")
    parser.add_argument("--one", type=int, default=0)
    parser.add_argument("--spans", type=Path, help="keep the spans in this file")
    options = parser.parse_args()
    entries = suite_entries(
        options.suite, device=options.device, path=options.path, problems=options.problem
    )
    with tempfile.TemporaryDirectory() as out:
        settings = Settings(
            device=options.device,
            budget_s=parse_seconds(options.budget),
            out=out,
            archive=f"{out}/archive.sqlite",
        )
        run(entries, settings, options)


if __name__ == "__main__":
    main()
