"""Judging the zoo: one judge for each task, in this process or several of them side by side."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kernelwright.core.cores import usable_cores
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge, SharedForkServer, SharedForkServerProcess
from kernelwright.testing.zoo.canaries import Canaries
from kernelwright.testing.zoo.cases import Case
from kernelwright.testing.zoo.outcomes import Outcome, Result, weigh
from kernelwright.workers.in_process import in_process
from kernelwright.workers.side_by_side import side_by_side

Report = Callable[[Outcome], None]
PRELOADED = (__name__, "kernelwright.judge.judge")


def run(
    device: str,
    chosen: Iterable[Case],
    *,
    timed: bool = True,
    jobs: int = 1,
    report: Report = lambda outcome: None,
) -> list[Outcome]:
    """The outcome of each of the ``chosen`` cases that can run here.

    Cases of one task share a judge, as candidates of a search do, and come when the first of them
    does. With ``timed`` false only results are checked, which is quick and cannot tell the cheats
    that need the clock. Of several ``jobs`` each has a task and a process of its own, and they take
    turns at the clock. ``report`` is called with each outcome as soon as it is known.

    Raises:
        DeviceError: the device cannot be used.
    """
    todo = [case for case in chosen if case.is_runnable()]
    order = list(dict.fromkeys(map(_judge_key, todo)))
    todo.sort(key=lambda case: order.index(_judge_key(case)))
    groups = [list(group) for _, group in itertools.groupby(todo, key=_judge_key)]
    outcomes: list[Outcome] = []

    def keep(outcome: Outcome) -> None:
        outcomes.append(outcome)
        report(outcome)

    def keep_all(found: list[Outcome]) -> None:
        for outcome in found:
            keep(outcome)

    with SharedForkServerProcess() as fork_server:
        if jobs == 1:
            for group in groups:
                _judge_group(group, device, timed=timed, fork_server=fork_server, on_step=keep)
        else:
            one = partial(_in_a_process, device=device, timed=timed, fork_server=fork_server)
            side_by_side(one, groups, jobs=jobs, on_done=keep_all)
    return outcomes


def _judge_key(case: Case) -> tuple[str, int]:
    return case.task, case.threads


def _in_a_process(
    group: list[Case], device: str, *, timed: bool, fork_server: SharedForkServer
) -> list[Outcome]:
    """The outcomes of one task's cases; a judge that dies has been brought down by one of them."""
    found: list[Outcome] = []
    work = partial(_judge_group, group, device, timed=timed)
    ending = in_process(work, fork_server=fork_server, on_step=found.append, preload=PRELOADED)
    if ending.is_interrupted:
        return found
    why = f"the judge's process ended: {ending.error or ending.died}"
    lost = group[len(found) :]
    return found + [Outcome(case, Result.ESCAPE, why, None, 0.0) for case in lost]


def _judge_group(
    group: Sequence[Case],
    device: str,
    *,
    timed: bool,
    fork_server: SharedForkServer,
    on_step: Report,
) -> None:
    """Judge the cases of one task with as many threads, or as there are cores."""
    threads = min(group[0].threads, usable_cores())
    settings = Settings(device=device, threads=threads)
    task, where = group[0].load_task(), Device.parse(device)
    with (
        Canaries() as canaries,
        Judge(task, device=where, settings=settings, fork_server=fork_server) as judge,
    ):
        for case in group:
            on_step(_judge_case(judge, case, canaries, timed=timed))


def _judge_case(judge: Judge, case: Case, canaries: Canaries, *, timed: bool) -> Outcome:
    start_s = time.monotonic()
    try:
        evaluation = judge.evaluate(case.candidate, timed=timed)
    except Exception as error:  # a candidate that makes the judge fail stops the judging of others
        why = f"the judge raised {type(error).__name__}: {error}"
        return Outcome(case, Result.ESCAPE, why, None, time.monotonic() - start_s)
    seconds = time.monotonic() - start_s
    result, why = weigh(case, evaluation, canaries.alarms(), timed=timed)
    return Outcome(case, result, why, evaluation, seconds)
