"""Checkpoints examined on a suite: each answers every task some times, and the judge counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.bench import known
from kernelwright.bench.questions import Policy, Questions
from kernelwright.bench.suite import Outcome
from kernelwright.console.terminal import error_facts
from kernelwright.core import plugins
from kernelwright.core.call import Call
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import resolve
from kernelwright.judge.machine.here import Here
from kernelwright.suites.suite import SuiteEntry
from kernelwright.train.court import Court
from kernelwright.train.courtroom import Answer
from kernelwright.workers.side_by_side import side_by_side

SAMPLES = 4
MAX_TOKENS = 2048


@dataclass(frozen=True)
class Exam:
    """What was asked and is to be counted."""

    outcomes: list[Outcome]
    calls: frozenset[str]


def policies(named: Sequence[str], samples: int) -> list[Policy]:
    """The checkpoints named: 'DIR', or 'DIR=N' for N answers to each task.

    Raises:
        UsageError: no checkpoint is there.
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
    entries: Sequence[SuiteEntry], examined: Sequence[Policy], *, settings: Settings,
    dialect: str = "", max_tokens: int = MAX_TOKENS, shown: int = 0, jobs: int = 1,
    timed: bool = True, on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> Exam:  # fmt: skip
    """Answers of every checkpoint to every task, judged.

    Answers and verdicts are kept in the archive: the same call goes on where it stopped, and one
    with more samples adds to them. No prompt shows a kernel. One checkpoint is asked after the
    other; then tasks are judged, ``jobs`` of them side by side. After that each checkpoint gives
    ``shown`` answers more, to prompts that show two of its own kernels with what the judge found.
    Without ``timed`` only rightness is found, in a fraction of the time: nobody has looked then
    whether own code does the work.

    Raises:
        DeviceError: this machine has no such device.
        ProposerError: a checkpoint cannot be run.
        UsageError: kernels in the dialect cannot be judged on the device.
    """
    device = resolve(Device.parse(settings.device))
    told = dataclasses.replace(
        settings, proposers=(), models=tuple(policy.name for policy in examined),
        dialects=(_usable(dialect, device),),
    )  # fmt: skip
    here = Here.of(device, told)
    calls: dict[str, list[Call]] = {entry.task.digest: [] for entry in entries}
    with Archive(told.archive) as archive, Court(told, device, jobs=jobs, timed=timed) as court:
        questions = Questions(entries, told, device, max_tokens, archive)

        def one(entry: SuiteEntry) -> Outcome:
            said = [
                Answer(entry.task, c.dialect, c.answer, model=c.model, call=c.id)
                for c in calls[entry.task.digest]
            ]
            error = None
            try:
                faults = [judged.fault for judged in court.judge(said) if judged.fault is not None]
                error = error_facts(faults[0]) if faults else None
            except KernelwrightError as failed:
                error = error_facts(failed)
            return Outcome(entry, known.chapter(entry.task, told, here), error)

        def sit() -> list[Outcome]:
            found = side_by_side(one, entries, jobs=jobs, on_done=on_done)
            return [o or Outcome(e, was_run=False) for o, e in zip(found, entries, strict=True)]

        questions.ask(calls, {policy: policy.samples for policy in examined})
        outcomes = sit()
        if shown and all(outcome.was_run for outcome in outcomes):
            questions.ask(calls, dict.fromkeys(examined, shown), is_shown=True)
            outcomes = sit()
    judged = [o.entry.task.digest for o in outcomes if o.was_run and o.error is None]
    return Exam(outcomes, frozenset(call.id for digest in judged for call in calls[digest]))


def _usable(dialect: str, device: Device) -> str:
    """The dialect to ask for; by default what the rules would write in on such a device."""
    name = dialect or ("cpp" if device.kind == "cpu" else "triton")
    missing = plugins.find("kernelwright.dialects", name).missing(device)
    if missing:
        raise UsageError(
            f"kernels in {name} cannot be judged on {device}",
            seen=missing,
            do="choose another --dialect or --device",
        )
    return name
