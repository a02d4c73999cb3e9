"""Where answers go to be judged: in the archive they meet what was judged before them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kernelwright import select
from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION, Judge
from kernelwright.propose.swarm.answer import read
from kernelwright.train.reward import Judged, jumps

NAME = "policy"


@dataclass(frozen=True)
class Answer:
    """What a policy said about a task, and the kernels that it had been shown."""

    task: Task
    dialect: str
    text: str
    exemplars: tuple[Exemplar, ...] = ()
    model: str = ""


class Court:
    """Judges answers, several tasks side by side, and archives proposals and verdicts.

    A text that was judged before is not judged again: to offer it until a measurement is lucky
    would pay. Only what is right is timed, so that a task whose answers are all wrong starts no
    baseline. It is timed even where only rightness pays, because that shows whose code did the
    work: a file with a kernel that nobody calls is right as well.

    A context manager: the judges of the last tasks stay open, with their baselines.
    """

    def __init__(
        self,
        archive: Archive,
        settings: Settings,
        device: Device,
        *,
        jobs: int = 1,
        timed: bool = True,
    ) -> None:
        """``device`` as resolved: verdicts of other devices do not count. ``timed`` is false for
        an examination, where nothing is earned."""
        self.archive, self.settings, self.device = archive, settings, device
        self.jobs, self.timed = jobs, timed
        self.n_judged = 0
        """Candidates that got a verdict here."""
        self._judges: dict[str, Judge] = {}
        self._runs: dict[str, str] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Court:
        return self

    def __exit__(self, *_: object) -> None:
        self._close(0)

    def judge(self, answers: Sequence[Answer]) -> list[Judged]:
        """What became of every answer, in their order.

        Raises:
            TaskError: a task cannot be run.
            DeviceError: the machine failed.
        """
        by_task: dict[str, list[int]] = {}
        for number, answer in enumerate(answers):
            by_task.setdefault(answer.task.digest, []).append(number)
        judged = [Judged(None)] * len(answers)

        def sit(numbers: list[int]) -> None:
            found = self._one_task([answers[number] for number in numbers])
            for number, each in zip(numbers, found, strict=True):
                judged[number] = each

        with ThreadPoolExecutor(self.jobs, "court") as pool:
            list(pool.map(sit, by_task.values()))  # raises what a task raised
        self._close(self.jobs)
        return judged

    def _one_task(self, answers: Sequence[Answer]) -> list[Judged]:
        history = self.archive.history(
            answers[0].task.digest, device=str(self.device), judge_version=JUDGE_VERSION
        )
        known = {p.candidate.normal: found for p, found in select.latest(history)}
        best = max((s.low for found in known.values() if (s := found.speedup)), default=1.0)
        judged = []
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
            judged.append(Judged(verdict, candidate.normal in shown, again))
        return judged

    def _verdict(
        self, answer: Answer, candidate: Candidate, best: float
    ) -> tuple[Evaluation, Evaluation | None]:
        """The verdict, and a second one where the first is too good to be believed at once."""
        judge, run = self._open(answer.task)
        said = Proposal(candidate, NAME, lineage=(answer.model,), note=f"{NAME} in training")
        self.archive.add_proposal(run, said, answer.exemplars)
        verdict = judge.evaluate(candidate, timed=False)
        if verdict.passed and self.timed:
            verdict = judge.evaluate(candidate)
        self.archive.add_evaluation(run, verdict)
        with self._lock:
            self.n_judged += 1
        if not jumps(verdict.speedup, best):
            return verdict, None
        again = judge.evaluate(candidate)
        self.archive.add_evaluation(run, again)
        return (again, None) if again.status is Status.INFRA_ERROR else (verdict, again)

    def _open(self, task: Task) -> tuple[Judge, str]:
        """The task's judge and its run; one thread at a time asks for a task."""
        with self._lock:
            judge = self._judges.pop(task.digest, None)
        if judge is None:
            judge = Judge(task, device=self.device, settings=self.settings).__enter__()
        with self._lock:
            self._judges[task.digest] = judge  # the last to be closed
            if task.digest not in self._runs:
                self.archive.add_task(task, [judge.workload])
                self._runs[task.digest] = self.archive.start_run(task, self.settings)
            return judge, self._runs[task.digest]

    def _close(self, n_kept: int) -> None:
        """Close the judges that were asked longest ago, all but ``n_kept``."""
        while len(self._judges) > n_kept:
            self._judges.pop(next(iter(self._judges))).__exit__(None, None, None)
