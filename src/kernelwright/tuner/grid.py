"""Measures a grid: right programs of an archive under many schedules, by trials.

A program is a kernel's file apart from its schedule line. A lesson's program needs no verdict: it
was written together with its task, and each trial compares its result with the reference's. The
archive keeps every trial as it is measured, so a grid resumes from the archive alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

from kernelwright.archive import Archive
from kernelwright.core import plugins, schedule_line
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.schedule_line import LINE, OF
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.judge.devices.environment import Here
from kernelwright.suites.composed.lessons import PROPOSER
from kernelwright.tuner.admission import refusal
from kernelwright.tuner.batches import measured
from kernelwright.tuner.lines import NEAR_SHARE, schedules, under
from kernelwright.tuner.process import process_for
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TUNER_VERSION, TrialRunner
from kernelwright.tuner.tuner import BATCH

STAGES = (8,)
"""Rounds of a race in which nobody drops out: all schedules are measured alike."""
N_BEST = 2
"""Schedules whose neighbours are measured, the fastest first."""


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
) -> str:
    """Measure every right program of a task in the archive under ``n`` schedules, without those
    that were measured here before, for ``left_s`` seconds. Return what was done, in a few words.

    The last third are neighbours of the fastest of the others.

    Raises:
        TaskError: the task cannot be run.
        DeviceError: the machine failed.
    """
    until, device = time.monotonic() + left_s, resolve(Device.parse(settings.device))
    with Archive(settings.archive, create=False) as archive:
        grid = _Grid(archive, task, device, settings, n)
        wanted = grid.unmeasured()
        if not wanted:
            return "nothing new to measure"
        with Judge(task, device=device, settings=settings, fork_server=fork_server) as judge:
            why_not = why_untunable(judge)
            question = None if why_not else question_of(judge)
            if question is None:
                return f"not measured: {why_not or 'the reference has no sure answer'}"
            run, n_new = archive.start_run(task, replace(settings, proposers=())), 0
            dialects = sorted({one.candidate.dialect for one in wanted})
            try:
                with process_for(judge, dialects, fork_server) as process:
                    process.is_ours_only = False
                    process.give(question)
                    runner, most = TrialRunner(process, judge.device_lock), BATCH[device.kind]
                    with runner.at_work():
                        while wanted and time.monotonic() < until:
                            for race in measured(process, runner, wanted, most=most, stages=STAGES):
                                trials = [trial for _, trial in race]
                                archive.add_trials(run, judge.environment, TUNER_VERSION, trials)
                                n_new += len(trials)
                                if time.monotonic() > until:
                                    break
                            wanted = grid.unmeasured()
            finally:  # what was measured before a fault counts
                archive.finish_run(run, {"device": judge.environment.device, "trials": n_new})
            return f"{n_new} measured"


@dataclass(frozen=True)
class _Grid:
    """The programs of a task and how many schedules of each are wanted."""

    archive: Archive
    task: Task
    device: Device
    settings: Settings
    n: int

    def unmeasured(self) -> list[Proposal]:
        """Return programs under schedules that were not measured here: those that are drawn, or if
        all of them are known, neighbours of the fastest."""
        here = Here.of(self.device, self.settings)
        known = {
            trial.candidate: trial
            for place, version, trial in self.archive.trials_everywhere(self.task.digest)
            if version == TUNER_VERSION and here.is_of(place)
        }
        found = [
            program
            for program in programs(self.archive, self.task)
            if plugins.find("kernelwright.dialects", program.candidate.dialect).is_timed(
                self.device
            )
        ]
        n_drawn = self.n - int(NEAR_SHARE * self.n)
        drawn = [one for program in found for one in self._drawn(program, n_drawn)]
        wanted = [one for one in drawn if one.candidate.digest not in known]
        return wanted or [one for program in found for one in self._last(program, known)]

    def _is_timed(self, program: Proposal) -> bool:
        dialect = plugins.find("kernelwright.dialects", program.candidate.dialect)
        return bool(dialect.is_timed(self.device))

    def _drawn(self, program: Proposal, n: int) -> list[Proposal]:
        source, seed = program.candidate.source, f"{self.settings.seed} {self.task.digest}"
        return [under(program, line) for line in schedules(source, n, seed)]

    def _last(self, program: Proposal, known: Mapping[str, Trial]) -> list[Proposal]:
        """Return as many schedules as are still wanted: neighbours of the program's fastest, then
        others that are drawn."""
        mine = [t for t in known.values() if t.schedule.get(OF) == program.candidate.digest]
        timed = [(trial.time_ns, trial.schedule[LINE]) for trial in mine if trial.time_ns]
        near = [
            under(program, line)
            for _, best in sorted(timed, key=itemgetter(0))[:N_BEST]
            for line in filter(schedule_line.fits, schedule_line.neighbours(best))
        ]
        n_left = max(0, self.n - len(mine))
        others = self._drawn(program, self.n) if n_left else []
        fresh = {one.candidate.digest: one for one in (*near, *others)}
        return [one for digest, one in fresh.items() if digest not in known][:n_left]
