"""All candidates of one task under one judge; every verdict is archived as it is reached."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.archive import Archive, ranking
from kernelwright.batch.cases import Case, Docket, OnStep, Step
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import JUDGE_VERSION, Judge, Nursery

PROPOSER = "file"
"""Who proposed a candidate that somebody put into a folder."""


def judge_all(
    task: Task, cases: Sequence[Case], *, settings: Settings,
    on_step: OnStep = lambda step: None, nursery: Nursery | None = None,
) -> Docket:  # fmt: skip
    """A verdict on every candidate: the archive's where it holds one, else a new one.

    One that counts is on the same candidate, workload and environment, by the same version of the
    judge, and does not blame the machine. Ctrl-C ends it early; the same call goes on from there.

    Raises:
        TaskError: the task cannot be run.
        DeviceError: the machine failed.
    """
    task = task.in_precision(settings.precision)
    device = resolve(Device.parse(settings.device))
    verdicts: dict[str, Evaluation] = {}
    try:
        with (
            Archive(settings.archive) as archive,
            Judge(task, device=device, settings=settings, nursery=nursery) as judge,
        ):
            archive.add_task(task, [judge.workload])
            verdicts |= _known(archive, judge)
            run = archive.start_run(task, replace(settings, proposers=()))
            todo: dict[str, Case] = {}
            for case in cases:
                if case.candidate is not None and case.candidate.digest not in verdicts:
                    todo.setdefault(case.candidate.digest, case)
            found = judge.evaluate_all([case.candidate for case in todo.values()])
            with contextlib.closing(found):
                for digest, case in todo.items():
                    n_done = sum(known.is_settled for known in _decided(cases, verdicts))
                    on_step(Step(task.name, n_done, len(cases), case.name))
                    archive.add_proposal(run, Proposal(case.candidate, PROPOSER, note=case.name))
                    verdicts[digest] = next(found)
                    archive.add_evaluation(run, verdicts[digest])
            archive.finish_run(run)
    except KeyboardInterrupt:
        return Docket(task, _decided(cases, verdicts), interrupted=True)
    return Docket(task, _decided(cases, verdicts))


def _known(archive: Archive, judge: Judge) -> dict[str, Evaluation]:
    fitting = [
        (proposal, verdict)
        for proposal, verdict in archive.history(judge.task.digest, judge_version=JUDGE_VERSION)
        if verdict.environment.digest == judge.environment.digest
        and verdict.workload == judge.workload.digest
    ]
    return {verdict.candidate: verdict for _, verdict in ranking.latest(fitting)}


def _decided(cases: Sequence[Case], verdicts: Mapping[str, Evaluation]) -> tuple[Case, ...]:
    return tuple(
        replace(case, evaluation=verdicts.get(case.candidate.digest)) if case.candidate else case
        for case in cases
    )
