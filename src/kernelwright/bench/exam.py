"""Examines checkpoints on a suite: each answers every task several times, and is judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.bench import known
from kernelwright.bench.questions import Policy, Questions
from kernelwright.bench.suite import TaskOutcome
from kernelwright.console.terminal import error_facts
from kernelwright.core import plugins
from kernelwright.core.call import Call
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.suites.suite import SuiteEntry
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers

SAMPLES = 4
"""Default number of a checkpoint's answers to each task."""
MAX_TOKENS = 2048
"""Default limit of an answer's tokens."""


@dataclass(frozen=True)
class Exam:
    """The result of an exam."""

    outcomes: list[TaskOutcome]
    calls: frozenset[str]
    """Identifiers of the calls whose answers were judged and count."""


def policies(named: Sequence[str], samples: int) -> list[Policy]:
    """Return the checkpoints named by 'DIR', or by 'DIR=N' for N answers to each task.

    Raises:
        UsageError: a folder contains no checkpoint.
    """
    found = []
    for text in named:
        folder, _, number = text.rpartition("=")
        is_counted = bool(folder) and number.isdigit() and int(number) > 0
        path = Path(folder if is_counted else text).expanduser()
        if not (path / "config.json").is_file():
            raise UsageError(
                f"no checkpoint at {path}",
                seen="no config.json in it",
                do="name a folder that `kernelwright train` wrote, as DIR or DIR=N",
            )
        found.append(Policy(path, int(number) if is_counted else samples))
    return found


def run(
    entries: Sequence[SuiteEntry],
    examined: Sequence[Policy],
    *,
    settings: Settings,
    dialect: str = "",
    max_tokens: int = MAX_TOKENS,
    shown: int = 0,
    workers: Workers,
    timed: bool = True,
    on_done: Callable[[TaskOutcome], None] = lambda outcome: None,
) -> Exam:
    """Ask every checkpoint about every task, and judge the answers.

    Answers and verdicts are kept in the archive: the same call resumes where it stopped, and a call
    with more samples adds to them. The first prompts show no kernels. One checkpoint is asked after
    the other; then tasks are judged side by side. After that each checkpoint
    gives ``shown`` further answers, to prompts that show two of its own kernels with their
    verdicts. Without ``timed`` only correctness is judged, in a fraction of the time, and it is not
    known whether the kernel's own code does the work.

    Raises:
        DeviceError: there is no such device.
        ProposerError: a checkpoint cannot be run.
        UsageError: kernels in the dialect cannot be judged on the device.
    """
    target = workers.target(settings)
    settings = dataclasses.replace(
        settings,
        proposers=(),
        models=tuple(policy.name for policy in examined),
        dialects=(_usable(dialect, target.device),),
    )
    calls: dict[str, list[Call]] = {entry.task.digest: [] for entry in entries}
    with (
        Archive(settings.archive) as archive,
        RewardPool(settings, target.device, workers, timed=timed) as pool,
    ):
        questions = Questions(entries, settings, target.device, max_tokens, archive)

        def judge_task(entry: SuiteEntry) -> TaskOutcome:
            error = _judge(entry, calls[entry.task.digest], pool)
            return TaskOutcome(entry, known.chapter(entry.task, settings, target.here), error)

        def judge_tasks() -> list[TaskOutcome]:
            found = side_by_side(judge_task, entries, jobs=workers.jobs, on_done=on_done)
            return [o or TaskOutcome(e, was_run=False) for o, e in zip(found, entries, strict=True)]

        questions.ask(calls, {policy: policy.samples for policy in examined})
        outcomes = judge_tasks()
        if shown and all(outcome.was_run for outcome in outcomes):
            questions.ask(calls, dict.fromkeys(examined, shown), is_shown=True)
            outcomes = judge_tasks()
    judged = [o.entry.task.digest for o in outcomes if o.was_run and o.error is None]
    return Exam(outcomes, frozenset(call.id for digest in judged for call in calls[digest]))


def _judge(entry: SuiteEntry, calls: Sequence[Call], pool: RewardPool) -> dict[str, str] | None:
    """Judge the answers to one task, and return the error if it cannot be judged."""
    answers = [
        PolicyAnswer(entry.task, call.dialect, call.answer, model=call.model, call=call.id)
        for call in calls
    ]
    try:
        faults = [judged.fault for judged in pool.judge(answers) if judged.fault is not None]
    except KernelwrightError as failed:
        return error_facts(failed)
    return error_facts(faults[0]) if faults else None


def _usable(dialect: str, device: Device) -> str:
    """Return the dialect to ask for; by default the one that rules use on such a device."""
    name = dialect or ("cpp" if device.kind == "cpu" else "triton")
    missing = plugins.find("kernelwright.dialects", name).missing(device)
    if missing:
        raise UsageError(
            f"kernels in {name} cannot be judged on {device}",
            seen=missing,
            do="choose another --dialect or --device",
        )
    return name
