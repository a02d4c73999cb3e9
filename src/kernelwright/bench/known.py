"""What the archive holds of a task that was found on this machine, under settings as these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kernelwright.archive import Archive, Run
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.devices.environment import Here
from kernelwright.report.chapter import Chapter, chapters

LIMITS = ("budget_s", "budget_tokens", "budget_usd")
PROPOSING = ("proposers", "models", "contexts", "attached", "seed")
"""Settings that change what is proposed, besides the limits and the dialects."""


def search_of(task: Task, settings: Settings, here: Here) -> Run | None:
    """The last search of a task that the archive holds and that makes another one needless.

    It came to its end in this environment and under this judge, with settings that propose the
    same, and with no less time, tokens and money.
    """
    found = [run for run in _ended_runs(task, settings, here) if _does_as(run.settings, settings)]
    return found[-1] if found else None


def ended(task: Task, settings: Settings, here: Here) -> Mapping[str, Any] | None:
    """What the last search of a task said at its end in this environment."""
    found = _ended_runs(task, settings, here)
    return found[-1].settings["ended"] if found else None


def chapter(task: Task, settings: Settings, here: Here) -> Chapter | None:
    """What the archive says about a task in this environment; None where nothing was judged."""
    with Archive(settings.archive) as archive:
        if not archive.runs(task.digest):
            return None
        found = chapters(archive, task.digest, is_wanted=here.is_of)
    return found[0] if found else None


def _ended_runs(task: Task, settings: Settings, here: Here) -> list[Run]:
    """The task's runs that came to their end in this environment and under this judge."""
    with Archive(settings.archive) as archive:
        runs = archive.runs(task.digest)
    return [run for run in runs if run.finished_at and _is_from(run.settings, here)]


def _is_from(then: Mapping[str, Any], here: Here) -> bool:
    told = then.get("ended", {})
    if told.get("judge") != JUDGE_VERSION:
        return False
    return here.is_of(Environment(told["device"], told["environment"]))


def _does_as(stored: Mapping[str, Any], now: Settings) -> bool:
    """Whether a search with settings as stored has done all that one with those of now would."""
    then = asdict(Settings()) | dict(stored)
    return (
        all(_covers(then[name], getattr(now, name)) for name in LIMITS)
        and all(_plain(then[name]) == _plain(getattr(now, name)) for name in PROPOSING)
        and set(then["dialects"]) == set(now.dialects)
        and then["timed"] >= now.timed
    )


def _covers(then: float | None, now: float | None) -> bool:
    """Whether one limit is no tighter than another; without one there is none."""
    return not then or (bool(now) and then >= now)


def _plain(value: Any) -> Any:
    """A setting as the archive gives it back."""
    return list(value) if isinstance(value, tuple) else value
