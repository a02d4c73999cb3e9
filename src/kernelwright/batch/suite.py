"""Judges the candidates of every task of a suite: one judge per task, each in its own process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kernelwright.archive import Archive
from kernelwright.batch.files import Batch, CandidateFile, OnProgress
from kernelwright.batch.judging import judge_all
from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers

Group = tuple[SuiteEntry, list[CandidateFile]]
PRELOADED = (__name__, "kernelwright.judge.judge")


def judge_suite(
    groups: Sequence[Group],
    *,
    settings: Settings,
    workers: Workers,
    on_step: OnProgress = lambda step: None,
) -> list[Batch]:
    """Judge one batch per task, in the suite's order; a task that fails does not stop the others.

    Each judge has a GPU or a share of it, and cores. Judges build and check side by side; while one
    of them times candidates on a device, the others on that device pause. Ctrl-C ends judging
    early.
    """
    workers.target(settings)  # refuses what cannot be done there
    Archive(settings.archive).close()  # created here, before several processes open it

    def one(group: Group) -> Batch:
        task, files = group[0].task, group[1]
        work = partial(judge_all, task, files, settings=settings)
        ending = workers.run(work, on_step=on_step, preload=PRELOADED)
        if ending.is_interrupted:
            return Batch(task, tuple(files), interrupted=True)
        error = _death(task, ending.died) if ending.died else ending.error
        return _failed(task, files, error) if error else ending.value

    found = side_by_side(one, groups, jobs=workers.jobs, on_interrupt=workers.interrupt)
    return [
        batch or Batch(entry.task, tuple(files), interrupted=True)
        for batch, (entry, files) in zip(found, groups, strict=True)
    ]


def _death(task: Task, seen: str) -> DeviceError:
    return DeviceError(
        f"the judge of {task.name} died",
        seen=seen,
        do="judge one of its candidates alone to see the error",
    )


def _failed(task: Task, files: Sequence[CandidateFile], error: KernelwrightError) -> Batch:
    return Batch(task, tuple(replace(file, error=file.error or error) for file in files))
