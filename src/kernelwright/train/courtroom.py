"""One process that judges: the judge seeds torch's generator, so two may not share a process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from kernelwright import select
from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION, Judge, WarmProgram
from kernelwright.propose.swarm.answer import read
from kernelwright.train.reward import Judged, jumps

NAME = "policy"
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
    model: str = ""
    call: str | None = None
    """The archive's call that it is the answer to, where there is one."""
    origin: str = ""
    """The proposer to archive it under, where no policy said it."""


class Courtroom:
    """Judges the answers to one task after another, and archives proposals and verdicts."""

    def __init__(self, settings: Settings, device: Device, timed: bool) -> None:
        self.archive = Archive(settings.archive)
        self.settings, self.device, self.timed = settings, device, timed
        self._stack = ExitStack()
        self._nursery = self._stack.enter_context(WarmProgram())
        self._judges: dict[str, Judge] = {}
        self._runs: dict[str, str] = {}

    def close(self) -> None:
        self._close(0)
        self._stack.close()
        self.archive.close()

    def sit(self, answers: Sequence[Answer]) -> tuple[list[Judged], int]:
        """What became of each answer to one task, and how many of them had to be judged.

        Raises:
            TaskError: the task cannot be run.
            DeviceError: the machine failed.
        """
        history = self.archive.history(
            answers[0].task.digest, device=self.device.key, judge_version=JUDGE_VERSION
        )
        known = {p.candidate.normal: found for p, found in select.latest(history)}
        best = max((s.low for found in known.values() if (s := found.speedup)), default=1.0)
        try:
            return self._judge(answers, known, best)
        finally:
            if any(judge.place.most_judges is not None for judge in self._judges.values()):
                self._close(0)  # the device bears few at a time: others wait for its chair

    def _judge(
        self, answers: Sequence[Answer], known: dict[str, Evaluation], best: float
    ) -> tuple[list[Judged], int]:
        judged, n_new = [], 0
        for answer in answers:
            code = read(answer.text, answer.dialect).code
            if not code:
                judged.append(Judged(None))
                continue
            candidate = Candidate(code, answer.dialect)
            shown = {e.proposal.candidate.normal for e in answer.exemplars}
            verdict, again = known.get(candidate.normal), None
            if verdict is None or (self.timed and verdict.passed and verdict.timing is None):
                verdict, again = self._verdict(answer, candidate, best)
                known[candidate.normal] = again or verdict
                n_new += 1
            judged.append(Judged(verdict, candidate.normal in shown, again))
        return judged, n_new

    def _verdict(
        self, answer: Answer, candidate: Candidate, best: float
    ) -> tuple[Evaluation, Evaluation | None]:
        """The verdict, and a second one where the first is too good to be believed at once."""
        judge = self._open(answer.task)
        run = self._runs[answer.task.digest]
        told: dict[str, Any] = {"proposer": answer.origin}
        if not answer.origin:
            note = f"{NAME} in {'training' if answer.call is None else 'an exam'}"
            told = {"proposer": NAME, "note": note, "call": answer.call}
        said = Proposal(candidate, lineage=(answer.model,), **told)
        self.archive.add_proposal(run, said, answer.exemplars)
        verdict = judge.evaluate(candidate, timed=False)
        if verdict.passed and self.timed:
            verdict = judge.evaluate(candidate)
        self.archive.add_evaluation(run, verdict)
        if not jumps(verdict.speedup, best):
            return verdict, None
        again = judge.evaluate(candidate)
        self.archive.add_evaluation(run, again)
        return (again, None) if again.status is Status.INFRA_ERROR else (verdict, again)

    def _open(self, task: Task) -> Judge:
        """The task's judge, with a run in the archive."""
        judge = self._judges.pop(task.digest, None)
        if judge is None:
            self._close(N_OPEN - 1)
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
    """Make this process a courtroom."""
    global _room
    _room = Courtroom(settings, device, timed)


def sit(answers: Sequence[Answer]) -> tuple[list[Judged], int]:
    """``Courtroom.sit`` in a process that is one."""
    assert _room is not None
    return _room.sit(answers)


def leave() -> None:
    """End what ``enter`` began."""
    if _room is not None:
        _room.close()
