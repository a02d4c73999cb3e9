"""Judging candidates that another search has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kernelwright.archive import Archive
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import JUDGE_VERSION, Judge, SharedForkServer
from kernelwright.search.result import History

CONFIRM_TIME_S, CONFIRM_SHARE = 4.0, 0.2
"""Upper bounds on the timing of a final verdict, in seconds and as a share of the budget: long
enough to decide a gain that a first look leaves open."""


def final_time_s(settings: Settings) -> float:
    """Return the seconds of timing that a final verdict may take."""
    return min(CONFIRM_TIME_S, CONFIRM_SHARE * settings.budget_s)


def judge_all(
    task: Task,
    proposals: Sequence[Proposal],
    *,
    settings: Settings,
    fork_server: SharedForkServer | None = None,
) -> History:
    """Judge candidates of other searches on a task, timed as long as a confirming verdict, in a run
    of their own; return them with their verdicts.

    Raises:
        As ``optimize``.
    """
    device = resolve(Device.parse(settings.device))
    found: History = []
    with (
        Archive(settings.archive) as archive,
        Judge(task, device=device, settings=settings, fork_server=fork_server) as judge,
    ):
        archive.add_task(task, [judge.workload])
        run = archive.start_run(task, settings)
        for proposal in proposals:
            verdict = judge.evaluate(proposal.candidate, max_time_s=final_time_s(settings))
            archive.add_proposal(run, replace(proposal, parent=None))
            archive.add_evaluation(run, verdict)
            found.append((proposal, verdict))
        archive.finish_run(run, found_on(judge))
    return found


def found_on(judge: Judge) -> dict[str, Any]:
    """Return the device, the environment and the judge version that a finished run is kept with."""
    there = judge.environment
    return {"device": there.device, "environment": dict(there.facts), "judge": JUDGE_VERSION}
