"""Searches that did not come to their end: named on the page, with how to go on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kernelwright.archive import Archive, Run


@dataclass(frozen=True)
class Unfinished:
    """A task whose search was cut off or not begun: a longer one may find better."""

    name: str
    why: str
    again: str = ""
    """Options of the command that goes on with it; empty where it is the page's own command."""


def cut_off(archive: Archive, task: str | None = None) -> list[Unfinished]:
    """The tasks (or the one with this digest) whose last search on a device has no end."""
    names = {known.digest: known.name for known in archive.tasks()}
    last = {(run.task, run.settings["device"]): run for run in archive.runs(task)}
    open_runs = [run for run in last.values() if run.finished_at is None]
    judged = Counter(found.task for found in archive.evaluations(task=task)) if open_runs else {}
    return [_told(run, names[run.task], judged[run.task]) for run in open_runs]


def _told(run: Run, name: str, n_judged: int) -> Unfinished:
    begun = run.started_at[:16].replace("T", " ")
    why = f"begun {begun}, cut off or still going on; verdicts so far: {n_judged}"
    settings = run.settings
    again = f"--device {settings['device']} --budget {settings['budget_s']:g}s"
    return Unfinished(name, why, again)
