"""Measures a grid: right programs of an archive under many schedules, by trials.

A program is a kernel's file apart from its schedule line. A lesson's program needs no verdict: it
was written together with its task, and each trial compares its result with the reference's. The
archive keeps every trial as it is measured, so a grid resumes from the archive alone.
"""

from __future__ import annotations

import time
from dataclasses import replace

from kernelwright.archive import Archive
from kernelwright.core import plugins, schedule_line
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.judge.devices.environment import Here
from kernelwright.suites.composed.lessons import PROPOSER
from kernelwright.tuner.admission import refusal
from kernelwright.tuner.batches import measured
from kernelwright.tuner.lines import schedules, under
from kernelwright.tuner.process import process_for
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TUNER_VERSION, TrialRunner
from kernelwright.tuner.tuner import BATCH

STAGES = (8,)
"""Rounds of a race in which nobody drops out: all schedules are measured alike."""


def programs(archive: Archive, task: Task) -> list[Proposal]:
    """Return one right candidate of each program that may be tried under other schedules."""
    verdicts = archive.evaluations(task=task.digest)
    judged = {verdict.candidate for verdict in verdicts}
    right = {verdict.candidate for verdict in verdicts if verdict.passed}
    found: dict[str, Proposal] = {}
    for proposal in archive.proposals(task.digest):
        name, source = proposal.candidate.digest, proposal.candidate.source
        if name in right or (proposal.proposer == PROPOSER and name not in judged):
            program = schedule_line.program(source)
            if program and not refusal(source):
                found.setdefault(program, proposal)
    return [*found.values()]


def measure_task(
    task: Task, settings: Settings, *, n: int, left_s: float, fork_server: SharedForkServer
) -> int:
    """Measure every right program of a task in the archive under ``n`` schedules, without those
    that were measured here before, for ``left_s`` seconds. Return the number of new trials.

    Raises:
        TaskError: the task cannot be run.
        DeviceError: the machine failed.
    """
    until, device = time.monotonic() + left_s, resolve(Device.parse(settings.device))
    with Archive(settings.archive, create=False) as archive:
        wanted = _unmeasured(archive, task, settings, device, n)
        if not wanted:
            return 0
        with Judge(task, device=device, settings=settings, fork_server=fork_server) as judge:
            question = None if why_untunable(judge) else question_of(judge)
            if question is None:
                return 0
            run, n_new = archive.start_run(task, replace(settings, proposers=())), 0
            dialects = sorted({one.candidate.dialect for one in wanted})
            try:
                with process_for(judge, dialects, fork_server) as process:
                    process.is_ours_only = False
                    process.give(question)
                    runner, most = TrialRunner(process, judge.device_lock), BATCH[device.kind]
                    with runner.at_work():
                        for race in measured(process, runner, wanted, most=most, stages=STAGES):
                            trials = [trial for _, trial in race]
                            archive.add_trials(run, judge.environment, TUNER_VERSION, trials)
                            n_new += len(trials)
                            if time.monotonic() > until:
                                break
            finally:  # what was measured before a fault counts
                archive.finish_run(run, {"device": judge.environment.device, "trials": n_new})
            return n_new


def _unmeasured(
    archive: Archive, task: Task, settings: Settings, device: Device, n: int
) -> list[Proposal]:
    """Return the programs of a task under schedules that were not measured here."""
    here = Here.of(device, settings)
    known = {
        trial.candidate
        for place, version, trial in archive.trials_everywhere(task.digest)
        if version == TUNER_VERSION and here.is_of(place)
    }
    return [
        variant
        for program in programs(archive, task)
        if plugins.find("kernelwright.dialects", program.candidate.dialect).is_timed(device)
        for schedule in schedules(program.candidate.source, n, f"{settings.seed} {task.digest}")
        if (variant := under(program, schedule)).candidate.digest not in known
    ]
