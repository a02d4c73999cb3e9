"""A task's tuner with nothing around it, for the benchmarks of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial
from kernelwright.dialects.usable import usable_dialects
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.tuner.cost_model import CostModel, Groups
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.process import TunerProcess, process_for
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.similar import Winners
from kernelwright.tuner.space import Space
from kernelwright.tuner.trials import TrialRunner
from kernelwright.tuner.tuner import BATCH, Tuner

BUILTIN = Path(__file__).parents[1] / "src/kernelwright/suites/builtin"


@dataclass(frozen=True)
class Tuned:
    """A tuner that stands ready, and what it works with."""

    judge: Judge
    process: TunerProcess
    runner: TrialRunner
    model: CostModel
    tuner: Tuner


class Untunable(Exception):
    """A task cannot be tried in a process that many candidates share."""


def timed_dialects(asked: Sequence[str], device: Device) -> list[str]:
    """The dialects that are timed on a device; an interpreter's times mean nothing."""
    found = [name for name in usable_dialects(tuple(asked), device) if name != "torch"]
    return [name for name in found if device.kind != "cpu" or name == "cpp"]


@contextmanager
def tuned(
    task: Task,
    device: Device,
    dialects: Sequence[str],
    server: SharedForkServer,
    *,
    budget_s: float,
    on_trials: Callable[[Sequence[Trial]], None],
    past: Groups | None = None,
) -> Iterator[Tuned]:
    """A task's tuner.

    Raises:
        Untunable: the reason.
    """
    settings = Settings(device=str(device))
    with Judge(task, device=device, settings=settings, fork_server=server) as judge:
        reason = why_untunable(judge)
        question = None if reason else question_of(judge)
        if question is None:
            raise Untunable(reason or "the reference has no sure answer")
        brief = Brief(task, device, tuple(dialects), threads=judge.threads, budget_s=budget_s)
        with process_for(judge, dialects) as process:
            process.give(question)
            runner = TrialRunner(process, judge.device_lock)
            model = CostModel(machine(device.kind, judge.threads), past)
            tuner = Tuner(
                Pool(Space(brief, Winners(past or {})), model),
                runner,
                BuildQueue(process),
                batch_size=BATCH[device.kind],
                builds_ahead=judge.machine.backend.compiles_elsewhere,
                on_trials=on_trials,
            )
            yield Tuned(judge, process, runner, model, tuner)
