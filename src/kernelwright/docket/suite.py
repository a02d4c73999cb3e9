"""The candidates of every task of a suite: one judge per task, each in a process of its own.

They are forked from one that has imported what a judge needs, and used no device.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

from kernelwright.archive import Archive
from kernelwright.bench.lanes import WHOLE, Free, Lane
from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.docket.cases import Case, Docket, OnStep
from kernelwright.docket.judging import judge_all
from kernelwright.judge import Nursery, WarmProgram
from kernelwright.load.suite import SuiteEntry
from kernelwright.side_by_side import side_by_side

Group = tuple[SuiteEntry, list[Case]]
PRELOADED = [__name__, "kernelwright.judge.judge"]


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
        with free.one() as lane, contextlib.closing(nursery.branch()) as branch:
            work = (group[0].task, group[1], settings, branch, lane)
            return _in_a_process(*work, on_step=on_step)

    with WarmProgram() as nursery:
        pairs = zip(side_by_side(one, groups, jobs=len(lanes)), groups, strict=True)
    return [
        docket or Docket(entry.task, tuple(cases), interrupted=True)
        for docket, (entry, cases) in pairs
    ]


def _in_a_process(
    task: Task, cases: list[Case], settings: Settings, nursery: Nursery, lane: Lane, *,
    on_step: OnStep,
) -> Docket:  # fmt: skip
    """Judge where what a task breaks is broken for it alone, and its memory comes back."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(task, cases, settings, nursery, lane, theirs))
    process.start()
    theirs.close()
    try:
        while True:
            said = ours.recv()
            if isinstance(said, Docket):
                return said
            on_step(said)
    except EOFError:
        process.join()
        died = DeviceError(
            f"the judge of {task.name} died",
            seen=f"exit code {process.exitcode}",
            do="judge one of its candidates alone to see what it says",
        )
        return _failed(task, cases, died)
    finally:
        process.join()
        ours.close()


def _judge(
    task: Task, cases: list[Case], settings: Settings, nursery: Nursery, lane: Lane,
    answer: Connection,
) -> None:  # fmt: skip
    """The child: steps, and at last a docket. It ends where nobody listens any more."""
    lane.enter()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which what it is forked from ignores
    with contextlib.suppress(BrokenPipeError):
        try:
            how = {"settings": settings, "on_step": answer.send, "nursery": nursery}
            docket = judge_all(task, cases, **how)
        except KernelwrightError as error:
            docket = _failed(task, cases, error)
        except KeyboardInterrupt:
            docket = Docket(task, tuple(cases), interrupted=True)
        answer.send(docket)


def _failed(task: Task, cases: Sequence[Case], error: KernelwrightError) -> Docket:
    return Docket(task, tuple(replace(case, error=case.error or error) for case in cases))
