"""Searches that did not come to their end: named on the page, with how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.archive import Archive, Run
from kernelwright.core.task import Task


@dataclass(frozen=True)
class Unfinished:
    """A task whose search was cut off or not begun: a longer one may find better."""

    name: str
    why: str
    again: str = ""
    """Options of the command that goes on with it; empty where it is the page's own command."""


def cut_off(archive: Archive, tasks: Sequence[Task]) -> list[Unfinished]:
    """Return the tasks whose last search on a device did not end."""
    names = {task.digest: task.name for task in tasks}
    runs = [run for task in tasks for run in archive.runs(task.digest)]
    searches = [run for run in runs if run.settings["proposers"]]
    last = {(run.task, run.settings["device"]): run for run in searches}
    open_runs = [run for run in last.values() if run.finished_at is None]
    judged: Counter[tuple[str, str]] = Counter()
    for each in {run.task for run in open_runs}:
        for device, n in archive.count_evaluations(each).items():
            judged[each, _kind(device)] += n
    return [
        _told(run, names[run.task], judged[run.task, _kind(run.settings["device"])])
        for run in open_runs
    ]


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _told(run: Run, name: str, n_judged: int) -> Unfinished:
    begun = run.started_at[:16].replace("T", " ")
    why = f"begun {begun}, cut off or still going on; verdicts so far: {n_judged}"
    settings = run.settings
    limits = [f"{settings['budget_s']:g}s"]
    limits += [f"{settings['budget_tokens'] / 1e3:g}ktok"] if settings["budget_tokens"] else []
    limits += [f"{settings['budget_usd']:g}usd"] if settings["budget_usd"] else []
    again = " ".join([f"--device {settings['device']}", *(f"--budget {one}" for one in limits)])
    return Unfinished(name, why, again)
