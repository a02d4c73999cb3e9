"""Judges all candidate files of one task with one judge, and archives every verdict at once."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.archive import Archive, ranking
from kernelwright.batch.files import Batch, BatchProgress, CandidateFile, OnProgress
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import JUDGE_VERSION, Judge, SharedForkServer
from kernelwright.search.result import AtShape
from kernelwright.search.shapes import timed_shapes

PROPOSER = "file"
"""The proposer that candidates from a folder are archived under."""


def judge_all(
    task: Task,
    files: Sequence[CandidateFile],
    *,
    settings: Settings,
    on_step: OnProgress = lambda step: None,
    fork_server: SharedForkServer | None = None,
) -> Batch:
    """Return a verdict on every candidate: the archived one if there is one, else a new one.

    Candidates that pass are judged on each other shape that the task lists as well. An archived
    verdict counts if it is for the same candidate, workload and environment, by the same version of
    the judge, and does not blame the machine. Ctrl-C ends judging early; the same call resumes it.

    Raises:
        TaskError: the task cannot be run.
        DeviceError: the machine failed.
    """
    task = settings.applied_to(task)
    main, *others = timed_shapes(task, settings)
    batch = _judge_all(task, files, settings, on_step, fork_server)
    by_shape: dict[str, tuple[AtShape, ...]] = {
        file.candidate.digest: (AtShape(main.name, file.evaluation, is_holdout=False),)
        for file in batch.files
        if file.candidate and file.evaluation and file.evaluation.passed
    }
    passed = [file for file in files if file.candidate and file.candidate.digest in by_shape]
    is_interrupted = batch.interrupted
    for shape in others:
        if is_interrupted or not passed:
            break
        at_shape = _judge_all(shape.task, passed, settings, on_step, fork_server)
        is_interrupted = at_shape.interrupted
        verdicts = {f.candidate.digest: f.evaluation for f in at_shape.files if f.candidate}
        for digest, verdict in verdicts.items():
            if verdict is not None:
                by_shape[digest] += (AtShape(shape.name, verdict, shape.is_holdout),)
    if not others:
        return batch
    told = tuple(
        replace(file, by_shape=by_shape.get(file.candidate.digest, ())) if file.candidate else file
        for file in batch.files
    )
    return replace(batch, files=told, interrupted=is_interrupted)


def _judge_all(
    task: Task,
    files: Sequence[CandidateFile],
    settings: Settings,
    on_step: OnProgress,
    fork_server: SharedForkServer | None,
) -> Batch:
    """Judge the candidates on the main shape of a task."""
    device = resolve(Device.parse(settings.device))
    verdicts: dict[str, Evaluation] = {}
    try:
        with (
            Archive(settings.archive) as archive,
            Judge(task, device=device, settings=settings, fork_server=fork_server) as judge,
        ):
            archive.add_task(task, [judge.workload])
            verdicts |= _known(archive, judge, settings.timed)
            run = archive.start_run(task, replace(settings, proposers=()))
            todo: dict[str, CandidateFile] = {}
            for file in files:
                if file.candidate is not None and file.candidate.digest not in verdicts:
                    todo.setdefault(file.candidate.digest, file)
            candidates = [file.candidate for file in todo.values()]
            found = judge.evaluate_all(candidates, timed=settings.timed)
            with contextlib.closing(found):
                for digest, file in todo.items():
                    n_done = sum(known.is_settled for known in _decided(files, verdicts))
                    on_step(BatchProgress(task.name, n_done, len(files), file.name))
                    archive.add_proposal(run, Proposal(file.candidate, PROPOSER, note=file.name))
                    verdicts[digest] = next(found)
                    archive.add_evaluation(run, verdicts[digest])
            archive.finish_run(run)
    except KeyboardInterrupt:
        return Batch(task, _decided(files, verdicts), interrupted=True)
    return Batch(task, _decided(files, verdicts))


def _known(archive: Archive, judge: Judge, is_timed: bool) -> dict[str, Evaluation]:
    fitting = [
        (proposal, verdict)
        for proposal, verdict in archive.history(judge.task.digest, judge_version=JUDGE_VERSION)
        if verdict.environment.digest == judge.environment.digest
        and verdict.workload == judge.workload.digest
        and not (is_timed and verdict.passed and verdict.timing is None)
    ]
    return {verdict.candidate: verdict for _, verdict in ranking.latest(fitting)}


def _decided(
    files: Sequence[CandidateFile], verdicts: Mapping[str, Evaluation]
) -> tuple[CandidateFile, ...]:
    return tuple(
        replace(file, evaluation=verdicts.get(file.candidate.digest)) if file.candidate else file
        for file in files
    )
