"""A worker process that judges a policy's answers.

The judge seeds torch's global generator, so two judges may not share a process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from kernelwright.archive import Archive, ranking
from kernelwright.core.candidate import Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, TaskError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import JUDGE_VERSION, Judge, SharedForkServerProcess
from kernelwright.judge.devices.environment import Here
from kernelwright.proposers.swarm.answer import read
from kernelwright.train import fast_judge
from kernelwright.train.fast_judge import Fast
from kernelwright.train.reward import Judged, jumps
from kernelwright.tuner.trials import TUNER_VERSION

FAULT = Status.INFRA_ERROR
NAME = "policy"
N_OPEN = 2
"""Number of judges that stay open with their baselines in case their task comes again, on devices
that allow any number of judges."""


@dataclass(frozen=True)
class PolicyAnswer:
    """A policy's answer to a task, with the kernels that its prompt showed."""

    task: Task
    dialect: str
    text: str
    exemplars: tuple[Exemplar, ...] = ()
    earlier: tuple[str, ...] = ()
    """The ``Candidate.normal`` of its previous answers in the same conversation."""
    parent: str | None = None
    """Digest of the archived candidate that it was asked to improve."""
    model: str = ""
    call: str | None = None
    """Identifier of the archived call that it answers, if any."""
    origin: str = ""
    """The proposer to archive it under, if it does not come from a policy."""


@dataclass(frozen=True)
class ParsedAnswer:
    """An answer with the candidate that it contains."""

    answer: PolicyAnswer
    candidate: Candidate

    @property
    def normal(self) -> str:
        """The candidate's text without layout and comments."""
        return self.candidate.normal


@dataclass
class TaskSession:
    """The verdicts on one task's answers, kept until all of them are judged."""

    known: dict[str, tuple[Evaluation, Evaluation | None]]
    """Verdicts by ``Candidate.normal``, from earlier sessions and from this one, each with the
    second verdict if the candidate was measured twice."""
    best: float
    """The best speedup of earlier sessions (lower end of its interval), at least 1."""
    right: dict[str, Evaluation] = field(default_factory=dict)
    """Verdicts on candidates that passed the check without timing, by ``Candidate.normal``."""
    past: dict[str, Evaluation] = field(default_factory=dict)
    """By ``Candidate.normal``: the judge's verdicts of earlier sessions, if the fast judge judges.
    Its speedups are over eager, so these are not among ``known``."""
    audits: dict[str, tuple[Evaluation, bool]] = field(default_factory=dict)
    """By ``Candidate.normal``: the judge's verdicts on answers of the fast judge that were audited,
    and whether both disagree."""
    n_new: int = 0
    """Number of answers that had to be judged in this session."""


class RewardWorker:
    """Judges the answers to one task after another and archives proposals and verdicts."""

    def __init__(
        self, settings: Settings, device: Device, timed: bool, fast: Fast | None = None
    ) -> None:
        """``fast``: let the fast judge judge, with these audits."""
        self.fast = fast
        self.archive = Archive(settings.archive)
        self.settings = replace(settings, proposers=())  # its archived runs are not searches
        self.device, self.timed = device, timed
        self._stack = ExitStack()
        self._fork_server = self._stack.enter_context(SharedForkServerProcess())
        self._judges: dict[str, Judge] = {}
        self._runs: dict[str, str] = {}
        self._sessions: dict[str, TaskSession] = {}

    def close(self) -> None:
        self._close_judges(0)
        self._stack.close()
        self.archive.close()

    def begin(self, answers: Sequence[PolicyAnswer], may_time: bool) -> None:
        """Judge some of a session's answers; ``judge`` continues from there.

        Without ``may_time`` the candidates are built and checked, but not timed.

        Raises:
            TaskError: the task cannot be run.
            DeviceError: the machine failed.
        """
        if self.fast is not None and not may_time:
            return  # it checks and times in one go
        task = answers[0].task
        is_closed = task.digest not in self._judges
        if is_closed and self._is_shared and any(s.right for s in self._sessions.values()):
            return  # opening this judge would close another one, whose baselines are compiling
        session = self._session(task)
        self._judge_new(answers, session, may_time)
        # The models that write answers meanwhile may have caused a fault of the machine, so
        # ``judge`` tries again.
        faults = [k for k, (found, _) in session.known.items() if found.status is FAULT]
        for text in faults:
            del session.known[text]

    def judge(self, by_task: Sequence[Sequence[PolicyAnswer]]) -> list[tuple[list[Judged], int]]:
        """Judge all answers, grouped by task.

        Returns for each task the results of its answers and the number of answers that had to be
        judged, including those judged by ``begin``. A task that cannot be run does not affect the
        others.

        Raises:
            DeviceError: the machine failed.
        """
        # Tasks with an open judge come first, before it is closed and its compiled baselines lost.
        numbers = range(len(by_task))
        order = sorted(numbers, key=lambda n: by_task[n][0].task.digest not in self._judges)
        found: dict[int, tuple[list[Judged], int]] = {}
        failed: list[KernelwrightError] = []
        for number in order:
            try:
                found[number] = self._judge_task(by_task[number])
            except TaskError as error:
                found[number] = [Judged(None, fault=error)] * len(by_task[number]), 0
            except KernelwrightError as error:
                failed.append(error)  # raised after the other tasks are judged and archived
        if failed:
            raise failed[0]
        return [found[number] for number in numbers]

    def _judge_task(self, answers: Sequence[PolicyAnswer]) -> tuple[list[Judged], int]:
        session = self._session(answers[0].task)
        try:
            self._judge_new(answers, session, True)
            return [self._judged(answer, session) for answer in answers], session.n_new
        finally:
            del self._sessions[answers[0].task.digest]
            if self._is_shared:
                self._close_judges(0)  # other processes wait for its slot on the device

    def _session(self, task: Task) -> TaskSession:
        """Return the task's session, opening it if necessary."""
        if task.digest not in self._sessions:
            history = self.archive.history(
                task.digest, device=self.device.key, judge_version=JUDGE_VERSION
            )
            mine = [pair for pair in history if self._here.is_of(pair[1].environment)]
            past = {p.candidate.normal: found for p, found in ranking.latest(mine)}
            best = max((s.low for found in past.values() if (s := found.speedup)), default=1.0)
            self._sessions[task.digest] = session = TaskSession({}, best)
            if self.fast is None:
                session.known = {k: (v, None) for k, v in past.items()}
            else:
                session.past = past
        return self._sessions[task.digest]

    @cached_property
    def _here(self) -> Here:
        """This machine: speedups measured on other machines do not count."""
        return Here.of(self.device, self.settings)

    def _judge_new(
        self, answers: Sequence[PolicyAnswer], session: TaskSession, may_time: bool
    ) -> None:
        """Judge the answers without a verdict; correct ones that are not timed yet get none."""
        unjudged = self._unjudged(answers, session)
        if self.fast is not None:
            self._judge_fast(unjudged, session, self.fast)
            return
        if self.timed and may_time:
            for parsed, verdict in self._evaluated(unjudged, session, timed=True):
                self._conclude(parsed, verdict, session)
            return
        unchecked = [parsed for parsed in unjudged if parsed.normal not in session.right]
        for parsed, checked in self._evaluated(unchecked, session, timed=False):
            if checked.passed:
                session.right[parsed.normal] = checked
            if checked.passed and self.timed:
                self._open(parsed.answer.task).start_baselines()
            else:
                self._conclude(parsed, checked, session)

    def _judged(self, answer: PolicyAnswer, session: TaskSession) -> Judged:
        """Return the result of an answer that was judged."""
        code = read(answer.text, answer.dialect).code
        if not code:
            return Judged(None)
        normal = Candidate(code, answer.dialect).normal
        found, again = session.known[normal]
        shown = {e.proposal.candidate.normal for e in answer.exemplars}
        audit, is_disputed = session.audits.get(normal, (None, False))
        is_copy = normal in shown.union(answer.earlier)
        return Judged(found, is_copy, again, audit=audit, is_disputed=is_disputed)

    def _judge_fast(
        self, unjudged: Sequence[ParsedAnswer], session: TaskSession, fast: Fast
    ) -> None:
        """Judge answers by trials, and audit some of them. A task that cannot be tried goes to the
        judge as a whole."""
        if not unjudged:
            return
        judge = self._open(unjudged[0].answer.task)
        if not fast_judge.can_try(judge):
            session.known = {k: (v, None) for k, v in session.past.items()} | session.known
            unjudged = self._unjudged([parsed.answer for parsed in unjudged], session)
            for parsed, verdict in self._evaluated(unjudged, session, timed=True):
                self._conclude(parsed, verdict, session)
            return
        run, environment = self._runs[judge.task.digest], judge.environment
        trials = fast_judge.past_trials(self.archive, judge)
        verdicts = {p.normal: fast_judge.rejection(judge, p.candidate) for p in unjudged}
        admitted = [parsed.candidate for parsed in unjudged if verdicts[parsed.normal] is None]
        fresh = [candidate for candidate in admitted if candidate.normal not in trials]
        found = fast_judge.trials_of(judge, fresh, self._fork_server)
        self.archive.add_trials(run, environment, TUNER_VERSION, [*found.values()])
        trials |= found
        for parsed in unjudged:
            self._propose(parsed)
            session.n_new += 1
            trial = trials.get(parsed.normal)
            verdict = verdicts[parsed.normal]
            if verdict is None and trial is not None:
                verdict = trial.as_evaluation(judge.task, environment)
            if verdict is None or fast.audits(parsed.candidate):
                verdict = self._audited(parsed, verdict, session)
            session.known[parsed.normal] = verdict, None

    def _audited(
        self, parsed: ParsedAnswer, verdict: Evaluation | None, session: TaskSession
    ) -> Evaluation:
        """Judge an answer and archive the verdict, unless it was judged in an earlier session;
        return what counts: the verdict of the judge, if it refuses the answer or if there is no
        other ``verdict``."""
        task, audit = parsed.answer.task, session.past.get(parsed.normal)
        if audit is None or (audit.passed and audit.timing is None):
            audit = self._open(task).evaluate(parsed.candidate)
            self.archive.add_evaluation(self._runs[task.digest], audit)
        if audit.status is FAULT and verdict is not None:
            return verdict
        if verdict is None:
            return audit
        is_disputed = fast_judge.disagree(verdict, audit)
        session.audits[parsed.normal] = audit, is_disputed
        return audit if is_disputed and verdict.passed else verdict

    def _unjudged(
        self, answers: Sequence[PolicyAnswer], session: TaskSession
    ) -> list[ParsedAnswer]:
        """Return the answers that have to be judged, each text once."""
        unjudged: dict[str, ParsedAnswer] = {}
        for answer in answers:
            code = read(answer.text, answer.dialect).code
            if code:
                parsed = ParsedAnswer(answer, Candidate(code, answer.dialect))
                found, _ = session.known.get(parsed.normal, (None, None))
                if found is None or (self.timed and found.passed and found.timing is None):
                    unjudged.setdefault(parsed.normal, parsed)
        return list(unjudged.values())

    def _evaluated(
        self, unjudged: Sequence[ParsedAnswer], session: TaskSession, *, timed: bool
    ) -> Iterator[tuple[ParsedAnswer, Evaluation]]:
        """Yield each answer with its verdict while the next candidates are built.

        A task whose answers are all wrong starts no library setting.
        """
        if not unjudged:
            return
        judge = self._open(unjudged[0].answer.task)
        candidates = [parsed.candidate for parsed in unjudged]
        with closing(judge.evaluate_all(candidates, timed=timed, is_sure=False)) as found:
            for parsed in unjudged:
                if parsed.normal not in session.right:  # else it was archived when it was checked
                    self._propose(parsed)
                    session.n_new += 1
                yield parsed, next(found)

    def _propose(self, parsed: ParsedAnswer) -> None:
        answer = parsed.answer
        is_policy = not answer.origin
        note = f"{NAME} in {'training' if answer.call is None else 'an exam'}"
        proposal = Proposal(
            parsed.candidate,
            proposer=NAME if is_policy else answer.origin,
            lineage=(answer.model,),
            parent=answer.parent,
            note=note if is_policy else "",
            call=answer.call if is_policy else None,
        )
        self.archive.add_proposal(self._runs[answer.task.digest], proposal, answer.exemplars)

    def _conclude(self, parsed: ParsedAnswer, verdict: Evaluation, session: TaskSession) -> None:
        """Record the verdict, and measure an implausibly good one a second time."""
        task = parsed.answer.task
        judge, run = self._open(task), self._runs[task.digest]
        self.archive.add_evaluation(run, verdict)
        again = None
        if jumps(verdict.speedup, session.best):
            again = judge.evaluate(parsed.candidate)
            self.archive.add_evaluation(run, again)
            if again.status is FAULT:
                verdict, again = again, None
        session.known[parsed.normal] = verdict, again

    @property
    def _is_shared(self) -> bool:
        """Whether the device limits the number of judges that are open at a time."""
        return any(judge.machine.backend.most_judges is not None for judge in self._judges.values())

    def _open(self, task: Task) -> Judge:
        """Return the task's judge, opened if necessary, and start a run in the archive."""
        judge = self._judges.pop(task.digest, None)
        if judge is None:
            # Waiting for a slot on the device while holding another could deadlock.
            self._close_judges(0 if self._is_shared else N_OPEN - 1)
            judge = Judge(
                task, device=self.device, settings=self.settings, fork_server=self._fork_server
            ).__enter__()
        self._judges[task.digest] = judge  # most recently used, so closed last
        if task.digest not in self._runs:
            self.archive.add_task(task, [judge.workload])
            self._runs[task.digest] = self.archive.start_run(task, self.settings)
        return judge

    def _close_judges(self, n_kept: int) -> None:
        """Close the least recently used judges and keep ``n_kept``."""
        while len(self._judges) > n_kept:
            self._judges.pop(next(iter(self._judges))).__exit__(None, None, None)


_worker: RewardWorker | None = None  # set in a worker process


def start(settings: Settings, device: Device, timed: bool, fast: Fast | None = None) -> None:
    """Make this process a reward worker."""
    global _worker
    _worker = RewardWorker(settings, device, timed, fast)


def begin(answers: Sequence[PolicyAnswer], may_time: bool) -> None:
    """Call ``RewardWorker.begin`` in this process; ``judge`` reports tasks that cannot be run."""
    assert _worker is not None
    with suppress(TaskError):
        _worker.begin(answers, may_time)


def judge(by_task: Sequence[Sequence[PolicyAnswer]]) -> list[tuple[list[Judged], int]]:
    """Call ``RewardWorker.judge`` in this process."""
    assert _worker is not None
    return _worker.judge(by_task)


def close() -> None:
    """Close what ``start`` opened."""
    if _worker is not None:
        _worker.close()
