"""Looks up earlier results for a task in the archive, from this machine and similar settings."""

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
"""Settings that change which candidates are proposed, besides the limits and the dialects."""


def search_of(task: Task, settings: Settings, here: Here) -> Run | None:
    """Return the last archived search of a task that makes another search unnecessary.

    It has ended in this environment under this version of the judge, its settings propose the same
    candidates, and it had at least as much time, tokens and money.
    """
    found = [run for run in _ended_runs(task, settings, here) if _includes(run.settings, settings)]
    return found[-1] if found else None


def ended(task: Task, settings: Settings, here: Here) -> Mapping[str, Any] | None:
    """Return the facts that the last search of a task in this environment ended with."""
    found = _ended_runs(task, settings, here)
    return found[-1].settings["ended"] if found else None


def chapter(task: Task, settings: Settings, here: Here) -> Chapter | None:
    """Return the report's chapter on a task in this environment; None if nothing was judged."""
    with Archive(settings.archive) as archive:
        if not archive.runs(task.digest):
            return None
        found = chapters(archive, [task], is_wanted=here.is_of)
    return found[0] if found else None


def _ended_runs(task: Task, settings: Settings, here: Here) -> list[Run]:
    """Return the task's runs that have ended in this environment under this judge."""
    with Archive(settings.archive) as archive:
        runs = archive.runs(task.digest)
    return [run for run in runs if run.finished_at and _is_from(run.settings, here)]


def _is_from(then: Mapping[str, Any], here: Here) -> bool:
    ended = then.get("ended", {})
    if ended.get("judge") != JUDGE_VERSION:
        return False
    return here.is_of(Environment(ended["device"], ended["environment"]))


def _includes(stored: Mapping[str, Any], now: Settings) -> bool:
    """Whether a search with the stored settings has done all that the current ones would do."""
    then = asdict(Settings()) | dict(stored)
    return (
        all(_covers(then[name], getattr(now, name)) for name in LIMITS)
        and all(_plain(then[name]) == _plain(getattr(now, name)) for name in PROPOSING)
        and set(then["dialects"]) == set(now.dialects)
        and then["timed"] >= now.timed
    )


def _covers(then: float | None, now: float | None) -> bool:
    """Whether the earlier limit is at least as high as the current one; None means no limit."""
    return not then or (bool(now) and then >= now)


def _plain(value: Any) -> Any:
    """Return a setting in the form in which the archive returns it."""
    return list(value) if isinstance(value, tuple) else value
