"""The candidates of every task of a suite: one judge per task, each in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kernelwright.archive import Archive
from kernelwright.batch.cases import Case, Docket, OnStep
from kernelwright.batch.judging import judge_all
from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import WarmProgram
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.in_process import in_process
from kernelwright.workers.lanes import WHOLE, Free, Lane
from kernelwright.workers.side_by_side import side_by_side

Group = tuple[SuiteEntry, list[Case]]
PRELOADED = (__name__, "kernelwright.judge.judge")


def judge_suite(
    groups: Sequence[Group],
    *,
    settings: Settings,
    lanes: Sequence[Lane] = (WHOLE,),
    on_step: OnStep = lambda step: None,
) -> list[Docket]:
    """One docket per task, in the suite's order; a task that fails does not stop the rest.

    In every lane one judge works at a time, on its GPU and its cores: they build and check side by
    side, and those on a device stand still while one of them measures. Ctrl-C ends it early.
    """
    free = Free(lanes)
    Archive(settings.archive).close()  # made once, before several processes open it

    def one(group: Group) -> Docket:
        task, cases = group[0].task, group[1]
        work = partial(judge_all, task, cases, settings=settings)
        with free.one() as lane:
            ending = in_process(
                work, nursery=nursery, lane=lane, on_step=on_step, preload=PRELOADED
            )
        if ending.is_interrupted:
            return Docket(task, tuple(cases), interrupted=True)
        error = _death(task, ending.died) if ending.died else ending.error
        return _failed(task, cases, error) if error else ending.value

    with WarmProgram() as nursery:
        pairs = zip(side_by_side(one, groups, jobs=len(lanes)), groups, strict=True)
    return [
        docket or Docket(entry.task, tuple(cases), interrupted=True)
        for docket, (entry, cases) in pairs
    ]


def _death(task: Task, seen: str) -> DeviceError:
    return DeviceError(
        f"the judge of {task.name} died",
        seen=seen,
        do="judge one of its candidates alone to see what it says",
    )


def _failed(task: Task, cases: Sequence[Case], error: KernelwrightError) -> Docket:
    return Docket(task, tuple(replace(case, error=case.error or error) for case in cases))
