"""Judges candidates in several processes: those of a suite, or of one task in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from kernelwright.archive import Archive
from kernelwright.batch.files import Batch, BatchProgress, CandidateFile, OnProgress
from kernelwright.batch.judging import judge_all
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers

Group = tuple[SuiteEntry, list[CandidateFile]]
PRELOADED = (__name__, "kernelwright.judge.judge")
MOST_IN_PART = 16
"""The candidates of one task that one judge judges at most, where several work."""


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
    parts = [_Part(entry.task, tuple(files), on_step) for entry, files in groups]
    return _judge_parts(parts, settings, workers)


def judge_folder(
    task: Task,
    files: Sequence[CandidateFile],
    *,
    settings: Settings,
    workers: Workers,
    on_step: OnProgress = lambda step: None,
) -> Batch:
    """Judge the candidates of one task in parts: as many as there are workers, and small enough
    that a lost node loses little. Each part has a judge, which measures the library once more.

    Raises:
        TaskError: the task cannot be run.
        DeviceError: the machine failed.
    """
    n_parts = max(min(workers.jobs, len(files)), -(-len(files) // MOST_IN_PART))
    n_done = [0] * n_parts

    def tell(number: int, step: BatchProgress) -> None:
        n_done[number] = step.n_done
        on_step(replace(step, n_done=sum(n_done), n_all=len(files)))

    part_of: dict[str, int] = {}  # copies of a candidate are judged once, so in one part
    members: list[list[int]] = [[] for _ in range(n_parts)]
    for place, file in enumerate(files):
        digest = file.candidate.digest if file.candidate else file.name
        members[part_of.setdefault(digest, len(part_of) % n_parts)].append(place)
    parts = [
        _Part(task, tuple(files[place] for place in places), partial(tell, number))
        for number, places in enumerate(members)
    ]
    batches = _judge_parts(parts, settings, workers)
    judged: dict[int, CandidateFile] = {}
    for places, batch in zip(members, batches, strict=True):
        judged |= dict(zip(places, batch.files, strict=True))
    whole = tuple(judged[place] for place in range(len(files)))
    if all(file.error is not None for file in whole) and (error := whole[0].error) is not None:
        raise error
    return Batch(batches[0].task, whole, interrupted=any(batch.interrupted for batch in batches))


@dataclass(frozen=True)
class _Part:
    """The candidates that one judge judges."""

    task: Task
    files: tuple[CandidateFile, ...]
    on_step: OnProgress


def _judge_parts(parts: Sequence[_Part], settings: Settings, workers: Workers) -> list[Batch]:
    workers.target(settings)  # refuses what cannot be done there
    Archive(settings.archive).close()  # created here, before several processes open it

    def one(part: _Part) -> Batch:
        work = partial(judge_all, part.task, part.files, settings=settings)
        ending = workers.run(work, on_step=part.on_step, preload=PRELOADED)
        advice = "judge one of its candidates alone to see the error"
        try:
            batch: Batch = ending.get(f"the judge of {part.task.name}", do=advice)
        except KeyboardInterrupt:
            return Batch(part.task, part.files, interrupted=True)
        except KernelwrightError as error:
            return _failed(part, error)
        return batch

    found = side_by_side(one, parts, jobs=workers.jobs, on_interrupt=workers.interrupt)
    return [
        batch or Batch(part.task, part.files, interrupted=True)
        for batch, part in zip(found, parts, strict=True)
    ]


def _failed(part: _Part, error: KernelwrightError) -> Batch:
    return Batch(part.task, tuple(replace(file, error=file.error or error) for file in part.files))
