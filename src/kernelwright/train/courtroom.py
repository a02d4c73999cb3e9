"""One process that judges: the judge seeds torch's generator, so two may not share a process."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kernelwright.archive import Archive, ranking
from kernelwright.core.candidate import Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION, Judge, WarmProgram
from kernelwright.judge.machine.here import Here
from kernelwright.proposers.swarm.answer import read
from kernelwright.train.reward import Judged, jumps

FAULT = Status.INFRA_ERROR
NAME = "policy"
ENDS_S = 5.0
"""How long a process that judges has to end when its trainer was killed."""
N_OPEN = 2
"""Judges that stay open with their baselines, for when their task comes again, where a device bears
any number of them."""


@dataclass(frozen=True)
class Answer:
    """What a policy said about a task, and the kernels that it had been shown."""

    task: Task
    dialect: str
    text: str
    exemplars: tuple[Exemplar, ...] = ()
    earlier: tuple[str, ...] = ()
    """What it had said before in the same conversation, as ``Candidate.normal``."""
    parent: str | None = None
    """The archive's candidate that it was to make better."""
    model: str = ""
    call: str | None = None
    """The archive's call that it is the answer to, where there is one."""
    origin: str = ""
    """The proposer to archive it under, where no policy said it."""


@dataclass(frozen=True)
class Case:
    """An answer, and the candidate that it holds."""

    answer: Answer
    candidate: Candidate

    @property
    def normal(self) -> str:
        """The candidate's text, layout and comments apart."""
        return self.candidate.normal


@dataclass
class Sitting:
    """What is known of a task's answers until all of them are judged."""

    known: dict[str, tuple[Evaluation, Evaluation | None]]
    """Verdicts by text, layout and comments apart: of earlier sittings, and of this one with the
    second where there was one."""
    best: float
    """The speedup to beat, of earlier sittings."""
    right: dict[str, Evaluation] = field(default_factory=dict)
    """Found right, by the check alone or timed with it."""
    n_new: int = 0
    """Answers that had to be judged."""


class Courtroom:
    """Judges the answers to one task after another, and archives proposals and verdicts."""

    def __init__(self, settings: Settings, device: Device, timed: bool) -> None:
        self.archive = Archive(settings.archive)
        self.settings = replace(settings, proposers=())  # it is no search
        self.device, self.timed = device, timed
        self._stack = ExitStack()
        self._nursery = self._stack.enter_context(WarmProgram())
        self._judges: dict[str, Judge] = {}
        self._runs: dict[str, str] = {}
        self._sittings: dict[str, Sitting] = {}

    def close(self) -> None:
        self._close(0)
        self._stack.close()
        self.archive.close()

    def begin(self, answers: Sequence[Answer], may_time: bool) -> None:
        """Judge some of the answers of a sitting, as far as that goes without a clock where none
        may be used now; ``sit`` goes on from there.

        Raises:
            TaskError: the task cannot be run.
            DeviceError: the machine failed.
        """
        task = answers[0].task
        is_closed = task.digest not in self._judges
        if is_closed and self._is_shared and any(s.right for s in self._sittings.values()):
            return  # the judge that is open would have to close: its library settings compile
        sitting = self._sitting(task)
        self._hear(answers, sitting, may_time)
        # A fault of the machine may be of those that write meanwhile: ``sit`` tries again.
        faults = [k for k, (found, _) in sitting.known.items() if found.status is FAULT]
        for text in faults:
            del sitting.known[text]

    def sit(self, by_task: Sequence[Sequence[Answer]]) -> list[tuple[list[Judged], int]]:
        """What became of each answer to each task, and how many of a task's had to be judged,
        those included with which it was begun. A task that cannot be run costs the others nothing.

        Raises:
            DeviceError: the machine failed.
        """
        # First the one whose judge is open, which would close: its library settings are compiled.
        numbers = range(len(by_task))
        order = sorted(numbers, key=lambda n: by_task[n][0].task.digest not in self._judges)
        found: dict[int, tuple[list[Judged], int]] = {}
        failed: list[KernelwrightError] = []
        for number in order:
            try:
                found[number] = self._sit(by_task[number])
            except TaskError as error:
                found[number] = [Judged(None, fault=error)] * len(by_task[number]), 0
            except KernelwrightError as error:
                failed.append(error)  # what can be judged is, and archived
        if failed:
            raise failed[0]
        return [found[number] for number in numbers]

    def _sit(self, answers: Sequence[Answer]) -> tuple[list[Judged], int]:
        sitting = self._sitting(answers[0].task)
        try:
            self._hear(answers, sitting, True)
            return [self._judged(answer, sitting) for answer in answers], sitting.n_new
        finally:
            del self._sittings[answers[0].task.digest]
            if self._is_shared:
                self._close(0)  # others wait for its chair

    def _sitting(self, task: Task) -> Sitting:
        """The task's, which is opened where there is none."""
        if task.digest not in self._sittings:
            history = self.archive.history(
                task.digest, device=self.device.key, judge_version=JUDGE_VERSION
            )
            mine = [pair for pair in history if self._here.is_of(pair[1].environment)]
            known = {p.candidate.normal: found for p, found in ranking.latest(mine)}
            best = max((s.low for found in known.values() if (s := found.speedup)), default=1.0)
            self._sittings[task.digest] = Sitting({k: (v, None) for k, v in known.items()}, best)
        return self._sittings[task.digest]

    @cached_property
    def _here(self) -> Here:
        """Another machine has other speeds."""
        return Here.of(self.device, self.settings)

    def _hear(self, answers: Sequence[Answer], sitting: Sitting, may_time: bool) -> None:
        """Judge what has no verdict yet. What is right and waits for the clock gets none."""
        cases = self._cases(answers, sitting)
        if self.timed and may_time:
            for case, verdict in self._evaluated(cases, sitting, timed=True):
                self._conclude(case, verdict, sitting)
            return
        unchecked = [case for case in cases if case.normal not in sitting.right]
        for case, checked in self._evaluated(unchecked, sitting, timed=False):
            if checked.passed:
                sitting.right[case.normal] = checked
            if checked.passed and self.timed:
                self._open(case.answer.task).start_baselines()
            else:
                self._conclude(case, checked, sitting)

    def _judged(self, answer: Answer, sitting: Sitting) -> Judged:
        """What became of an answer that was heard."""
        code = read(answer.text, answer.dialect).code
        if not code:
            return Judged(None)
        normal = Candidate(code, answer.dialect).normal
        found, again = sitting.known[normal]
        shown = {e.proposal.candidate.normal for e in answer.exemplars}
        return Judged(found, normal in shown.union(answer.earlier), again)

    def _cases(self, answers: Sequence[Answer], sitting: Sitting) -> list[Case]:
        """What has to be judged, each text once."""
        cases: dict[str, Case] = {}
        for answer in answers:
            code = read(answer.text, answer.dialect).code
            if code:
                case = Case(answer, Candidate(code, answer.dialect))
                found, _ = sitting.known.get(case.normal, (None, None))
                if found is None or (self.timed and found.passed and found.timing is None):
                    cases.setdefault(case.normal, case)
        return list(cases.values())

    def _evaluated(
        self, cases: Sequence[Case], sitting: Sitting, *, timed: bool
    ) -> Iterator[tuple[Case, Evaluation]]:
        """Each with what the judge says; the next are built meanwhile. A task whose answers are
        all wrong starts no library setting."""
        if not cases:
            return
        judge = self._open(cases[0].answer.task)
        candidates = [case.candidate for case in cases]
        with closing(judge.evaluate_all(candidates, timed=timed, is_sure=False)) as found:
            for case in cases:
                if case.normal not in sitting.right:  # else it was proposed when it was checked
                    self._propose(case)
                    sitting.n_new += 1
                yield case, next(found)

    def _propose(self, case: Case) -> None:
        answer = case.answer
        told: dict[str, Any] = {"proposer": answer.origin}
        if not answer.origin:
            note = f"{NAME} in {'training' if answer.call is None else 'an exam'}"
            told = {"proposer": NAME, "note": note, "call": answer.call}
        said = Proposal(case.candidate, lineage=(answer.model,), parent=answer.parent, **told)
        self.archive.add_proposal(self._runs[answer.task.digest], said, answer.exemplars)

    def _conclude(self, case: Case, verdict: Evaluation, sitting: Sitting) -> None:
        """Keep the verdict, and a second one where it is too good to be believed at once."""
        task = case.answer.task
        judge, run = self._open(task), self._runs[task.digest]
        self.archive.add_evaluation(run, verdict)
        again = None
        if jumps(verdict.speedup, sitting.best):
            again = judge.evaluate(case.candidate)
            self.archive.add_evaluation(run, again)
            if again.status is FAULT:
                verdict, again = again, None
        sitting.known[case.normal] = verdict, again

    @property
    def _is_shared(self) -> bool:
        """Whether the device bears few judges at a time."""
        return any(judge.place.most_judges is not None for judge in self._judges.values())

    def _open(self, task: Task) -> Judge:
        """The task's judge, with a run in the archive."""
        judge = self._judges.pop(task.digest, None)
        if judge is None:
            # Whoever waited for a chair and kept another would let all wait.
            self._close(0 if self._is_shared else N_OPEN - 1)
            judge = Judge(
                task, device=self.device, settings=self.settings, nursery=self._nursery
            ).__enter__()
        self._judges[task.digest] = judge  # the last to be closed
        if task.digest not in self._runs:
            self.archive.add_task(task, [judge.workload])
            self._runs[task.digest] = self.archive.start_run(task, self.settings)
        return judge

    def _close(self, n_kept: int) -> None:
        """Close the judges that were asked longest ago, all but ``n_kept``."""
        while len(self._judges) > n_kept:
            self._judges.pop(next(iter(self._judges))).__exit__(None, None, None)


_room: Courtroom | None = None  # of this process, where it is one


def enter(settings: Settings, device: Device, timed: bool) -> None:
    """Make this process a courtroom, which ends with the trainer that it belongs to."""
    global _room
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))  # the trainer says that it was interrupted
    threading.Thread(target=_end_with_the_trainer, daemon=True).start()
    _room = Courtroom(settings, device, timed)


def _end_with_the_trainer() -> None:
    """What was started here ends with this process, whatever it is doing."""
    trainer = multiprocessing.parent_process()
    assert trainer is not None
    multiprocessing.connection.wait([trainer.sentinel])
    for _ in range(2):  # the first may end what is judged alone, and the pool takes it for a result
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(ENDS_S)
    os._exit(1)


def begin(answers: Sequence[Answer], may_time: bool) -> None:
    """``Courtroom.begin`` in a process that is one; ``sit`` says what is wrong with a task."""
    assert _room is not None
    with suppress(TaskError):
        _room.begin(answers, may_time)


def sit(by_task: Sequence[Sequence[Answer]]) -> list[tuple[list[Judged], int]]:
    """``Courtroom.sit`` in a process that is one."""
    assert _room is not None
    return _room.sit(by_task)


def leave() -> None:
    """End what ``enter`` began."""
    if _room is not None:
        _room.close()
