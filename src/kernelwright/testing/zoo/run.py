"""Judging the zoo."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable

from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.testing.zoo.canaries import Canaries
from kernelwright.testing.zoo.cases import Case, cases, task
from kernelwright.testing.zoo.outcomes import Outcome, Result, weigh


def run(
    device: str = "cpu",
    chosen: Iterable[Case] | None = None,
    *,
    timed: bool = True,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """The outcome of every case for ``device`` that can run here, or of the ``chosen`` ones.

    Cases of one task share a judge, as candidates of a search do, and come when the first of them
    does. With ``timed`` false only results are checked, which is quick and says nothing about
    cheats on the clock. ``report`` is called with each outcome as soon as it is known.

    Raises:
        DeviceError: the device cannot be used.
    """
    kind = Device.parse(device).kind
    todo = [case for case in (cases(kind) if chosen is None else chosen) if case.is_runnable()]
    order = list(dict.fromkeys(map(_judge_key, todo)))
    todo.sort(key=lambda case: order.index(_judge_key(case)))
    outcomes = []
    with Canaries() as canaries:
        for (name, threads), group in itertools.groupby(todo, key=_judge_key):
            settings = Settings(device=device, threads=threads)
            with Judge(task(name), device=Device.parse(device), settings=settings) as judge:
                for case in group:
                    outcomes.append(_judge_case(judge, case, canaries, timed=timed))
                    report(outcomes[-1])
    return outcomes


def _judge_key(case: Case) -> tuple[str, int]:
    return case.task, case.threads


def _judge_case(judge: Judge, case: Case, canaries: Canaries, *, timed: bool) -> Outcome:
    start_s = time.monotonic()
    try:
        evaluation = judge.evaluate(case.candidate, timed=timed)
    except Exception as error:  # a candidate that makes the judge fail stops the judging of others
        why = f"the judge raised {type(error).__name__}: {error}"
        return Outcome(case, Result.ESCAPE, why, None, time.monotonic() - start_s)
    seconds = time.monotonic() - start_s
    result, why = weigh(case, evaluation, canaries.alarms())
    return Outcome(case, result, why, evaluation, seconds)
