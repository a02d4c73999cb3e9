"""A suite of tasks: one search each in a process of its own, resumed from the archive."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kernelwright import search
from kernelwright.archive import Archive
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError, nearest
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import JUDGE_VERSION, Nursery, WarmProgram
from kernelwright.load.suite import SuiteEntry, builtin_suite, folder_suite, kernelbench_suite
from kernelwright.report.chapter import Chapter, chapters
from kernelwright.side_by_side import side_by_side
from kernelwright.terminal import error_facts

CLOSING_S = 30.0  # a search that is told to stop confirms nothing, but writes what it has
ASKED_S = 8.0  # and is told again: an interrupt in the midst of imports can get lost
PRELOADED = [__name__, "kernelwright.judge.judge", "kernelwright.propose.rules.proposer"]
SUITES = ("builtin", "kernelbench", "folder")


@dataclass(frozen=True)
class Outcome:
    """What became of one task of a suite: a chapter of the archive, an error, or neither."""

    entry: SuiteEntry
    chapter: Chapter | None = None
    """Absent where nothing was judged."""
    error: dict[str, Any] | None = None
    """What, seen, do: why the search did not come to its end."""
    ended: dict[str, Any] | None = None
    """Why nothing was proposed: the strongest setting, the library's times."""
    was_run: bool = True
    """False where the time for the whole suite was over before its turn."""


def suite_entries(
    suite: str, *, device: str, path: Path | None = None, levels: Sequence[int] = (),
    problems: Sequence[str] = (), every: int = 1,
) -> list[SuiteEntry]:  # fmt: skip
    """The tasks of a suite: all, or those of these levels, problems, or every ``every``-th.

    Raises:
        UsageError: options that do not fit the suite, or a problem that it does not have.
        TaskError: ``path`` is not a KernelBench checkout, or not a folder of tasks.
    """
    if suite != "builtin" and path is None:
        whose = "KernelBench checkout" if suite == "kernelbench" else "folder of tasks"
        raise UsageError(f"which {whose}?", do="add --path DIR", seen="no --path")
    if (suite == "builtin" and path) or (suite != "kernelbench" and levels):
        raise UsageError(
            "--path and levels belong to --suite kernelbench; --path to folder too",
            seen=f"--suite {suite}",
            do="leave them out",
        )
    if path is None:
        entries = builtin_suite(device)
    elif suite == "folder":
        entries = folder_suite(path)
    else:
        entries = kernelbench_suite(path, levels or (1, 2, 3))
    known = {str(entry.problem) for entry in entries} | {entry.name for entry in entries}
    for problem in problems:
        if problem not in known:
            raise UsageError(
                f'no problem "{problem}" in the suite', seen=problem, do=nearest(problem, known)
            )
    chosen = [e for e in entries if not problems or {str(e.problem), e.name} & set(problems)]
    return [e for e in chosen if (e.problem - 1) % every == 0]


def run(
    entries: Sequence[SuiteEntry], *, settings: Settings, jobs: int = 1, limit_s: float,
    total_s: float = float("inf"), on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:  # fmt: skip
    """Search every task that the archive does not hold yet; the outcomes in the suite's order.

    ``jobs`` searches go on side by side; the judge's lock on the device keeps measuring apart. A
    search that takes longer than ``limit_s`` is stopped, and none is begun after ``total_s``.
    Ctrl-C stops the searches; what they found stays, and the same call goes on from there.

    Raises:
        DeviceError: this machine has no such device.
    """
    entries = [replace(e, task=e.task.in_precision(settings.precision)) for e in entries]
    device = str(resolve(Device.parse(settings.device)))
    Archive(settings.archive).close()  # made once, before several processes open it
    last_start = time.monotonic() + total_s

    def one(entry: SuiteEntry) -> Outcome:
        error, was_run = None, True
        if not _is_searched(entry.task, settings):
            was_run = time.monotonic() < last_start
            error = _in_a_process(entry.task, settings, limit_s, nursery) if was_run else None
        told = chapter(entry.task, settings, device)
        return Outcome(entry, told, error, _ended(entry.task, settings), was_run)

    with WarmProgram() as nursery:
        found = side_by_side(one, entries, jobs=jobs, on_done=on_done)
    pairs = zip(found, entries, strict=True)
    return [outcome or Outcome(entry, was_run=False) for outcome, entry in pairs]


def _is_searched(task: Task, settings: Settings) -> bool:
    """Whether the archive holds a search of this task that came to its end under this judge, on
    this device, with the same proposers and at least this budget."""
    with Archive(settings.archive) as archive:
        finished = [
            run
            for run in archive.runs(task.digest)
            if run.finished_at
            and run.settings["device"] == settings.device
            and run.settings["budget_s"] >= settings.budget_s
            and list(run.settings["proposers"]) == list(settings.proposers)
        ]
        verdicts = archive.evaluations(task=task.digest) if finished else []
    versions = {verdict.judge_version for verdict in verdicts}
    return bool(finished) and (not versions or JUDGE_VERSION in versions)


def _ended(task: Task, settings: Settings) -> dict[str, Any] | None:
    """What the last search of a task on this device said of an end without candidates."""
    with Archive(settings.archive) as archive:
        found = [run for run in archive.runs(task.digest) if run.finished_at]
    here = [run for run in found if run.settings["device"] == settings.device]
    return here[-1].settings.get("ended") if here else None


def chapter(task: Task, settings: Settings, device: str) -> Chapter | None:
    """What the archive says about a task on a device; None where nothing of it was judged."""
    with Archive(settings.archive) as archive:
        if task.digest not in {known.digest for known in archive.tasks()}:
            return None
        found = chapters(archive, task.digest)
    here = [chapter for chapter in found if chapter.device == device]
    return here[0] if here else None


def _in_a_process(
    task: Task, settings: Settings, limit_s: float, nursery: Nursery
) -> dict[str, Any] | None:
    """Search in a process of its own, so that what a task breaks is broken for it alone.

    It is forked from one that has imported what a search needs, and used no device.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    branch = nursery.branch()
    process = context.Process(target=_search, args=(task, settings, theirs, branch))
    process.start()
    theirs.close()
    branch.close()
    try:
        if ours.poll(limit_s):
            return ours.recv()
        return _stop(process, f"no end within {limit_s:.0f} s")
    except EOFError:
        process.join()
        return {
            "what": "the search died",
            "seen": f"exit code {process.exitcode}",
            "do": "run kernelwright optimize on this task alone to see what it says",
        }
    finally:
        process.join(CLOSING_S)
        if process.is_alive():
            process.kill()
        ours.close()


def _stop(process: Any, seen: str) -> dict[str, Any]:
    until = time.monotonic() + CLOSING_S
    while process.is_alive() and time.monotonic() < until:
        os.kill(process.pid, signal.SIGINT)
        process.join(ASKED_S)
    do = "give it more with --limit; what was found by then is in the archive"
    return {"what": "the search was stopped", "seen": seen, "do": do}


def _search(task: Task, settings: Settings, answer: Connection, nursery: Nursery) -> None:
    """The child: search, and answer with the error if there is one."""
    # Its parent stops it by this, also where a shell in the background had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        search.optimize(task, settings=settings, nursery=nursery, stops_early=True)
        answer.send(None)
    except KernelwrightError as error:
        answer.send(error_facts(error))
    except KeyboardInterrupt:
        answer.send({"what": "the search was interrupted", "seen": "Ctrl-C", "do": ""})
