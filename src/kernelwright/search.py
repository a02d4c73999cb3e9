"""The loop, the only one: Brief → Proposer → Candidate → Judge → Evaluation → Archive → Brief."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright import select
from kernelwright.archive import Archive
from kernelwright.core import plugins
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import DialectError, KernelwrightError
from kernelwright.core.evaluation import Evaluation, Ratio
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import JUDGE_VERSION, Judge, library_candidate
from kernelwright.load import check
from kernelwright.load.suite import SuiteEntry

N_EXEMPLARS = 6  # enough for parent, better, worse and failed ones of two dialects
MIN_EVALUATED = 3  # a budget spent on slow baselines still buys a first look at the candidates
N_CONFIRMED = 3  # the best of many noisy measurements is flattered; this many are measured again

History = list[tuple[Proposal, Evaluation]]


@dataclass(frozen=True)
class Progress:
    """What a search tells while it runs."""

    task: str
    doing: str
    """What is being tried, in a few words."""
    best: Ratio | None
    """The best speedup so far against the strongest library setting."""
    n_done: int
    seconds_left: float


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Result:
    """What a search found.

    ``best`` is None when nothing beat the strongest library setting; ``source_path`` then holds
    that setting as a file.
    """

    task: Task
    best: Proposal | None
    evaluation: Evaluation | None
    """The confirming verdict on ``best``, measured after the search and apart from it."""
    evaluated: History
    strongest: str
    """The name of the strongest library setting."""
    source_path: Path | None
    archive_url: str
    report_path: Path | None = None
    interrupted: bool = False
    error: KernelwrightError | None = None
    """Why the task could not be searched; only in the results of a suite."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of judged candidates by status."""
        return dict(Counter(evaluation.status.value for _, evaluation in self.evaluated))


def optimize(
    task: Task, *, settings: Settings, on_progress: OnProgress = lambda progress: None
) -> Result:
    """Search for a kernel that beats the strongest library setting, within the budget.

    Everything proposed and judged goes to the archive at once. A search that was stopped goes on
    where it was: what the archive holds for this task, machine and judge is not judged again.

    Raises:
        TaskError: the task cannot be run.
        DialectError: no dialect asked for can run on the device.
        DeviceError: the machine failed.
    """
    device = resolve(Device.parse(settings.device))
    dialects = usable_dialects(settings.dialects, device)
    check(task, device.torch_name)
    with (
        Archive(settings.archive) as archive,
        Judge(task, device=device, settings=settings) as judge,
    ):
        search = _Search(task, device, dialects, settings, archive, judge, on_progress)
        try:
            search.run()
            best = search.confirm()
            interrupted = False
        except KeyboardInterrupt:
            best = select.best(search.history)
            interrupted = True
        return search.finish(best, interrupted)


@dataclass
class _Search:
    """One search: what is fixed, and the history that grows."""

    task: Task
    device: Device
    dialects: tuple[str, ...]
    settings: Settings
    archive: Archive
    judge: Judge
    on_progress: OnProgress
    history: History = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.settings.budget_s
        self.archive.add_task(self.task, [self.judge.workload])
        self.run_id = self.archive.start_run(self.task, self.settings)
        self.history += [
            (proposal, evaluation)
            for proposal, evaluation in self.archive.history(self.task.digest)
            if evaluation.judge_version == JUDGE_VERSION
            and evaluation.environment.digest == self.judge.environment.digest
        ]
        self.seen = {proposal.candidate.digest for proposal, _ in self.history}

    def run(self) -> None:
        """Rounds of brief, proposals and verdicts, until the time or the proposers are spent."""
        proposers = [plugins.find("kernelwright.proposers", n) for n in self.settings.proposers]
        n_before = len(self.history)
        while True:
            n_round = len(self.history)
            brief = self.brief()
            for proposer in proposers:
                for proposal in proposer.propose(brief):
                    is_late = time.monotonic() > self.deadline
                    if is_late and len(self.history) - n_before >= MIN_EVALUATED:
                        return
                    if proposal.candidate.digest not in self.seen:
                        self.evaluate(proposal, brief)
            if len(self.history) == n_round:
                return

    def brief(self) -> Brief:
        """What the proposers are told this round."""
        return Brief(
            task=self.task,
            device=self.device,
            dialects=self.dialects,
            exemplars=tuple(select.exemplars(self.history, N_EXEMPLARS, seed=self.settings.seed)),
            budget_s=max(0.0, self.deadline - time.monotonic()),
            seed=self.settings.seed,
            threads=self.judge.threads,
        )

    def evaluate(self, proposal: Proposal, brief: Brief) -> None:
        """Archive the proposal, judge it, archive the verdict."""
        self.tell(f"{proposal.candidate.dialect}: {describe(proposal)}")
        self.seen.add(proposal.candidate.digest)
        self.archive.add_proposal(self.run_id, proposal, brief.exemplars)
        evaluation = self.judge.evaluate(proposal.candidate)
        self.archive.add_evaluation(self.run_id, evaluation)
        self.history.append((proposal, evaluation))

    def confirm(self) -> tuple[Proposal, Evaluation] | None:
        """The best that still wins when it is measured once more; None when nothing does."""
        winners = [pair for pair in select.ranked(self.history) if select.wins(pair[1])]
        for proposal, _ in winners[:N_CONFIRMED]:
            self.tell(f"measuring again {proposal.candidate.dialect}: {describe(proposal)}")
            again = self.judge.evaluate(proposal.candidate)
            self.archive.add_evaluation(self.run_id, again)
            if select.wins(again):
                return proposal, again
        return None

    def finish(self, best: tuple[Proposal, Evaluation] | None, interrupted: bool) -> Result:
        """Write the best source, or the library setting that nothing beat, and close the run."""
        strongest = self.judge.strongest
        candidate = best[0].candidate if best else library_candidate(self.task, strongest)
        path = write_source(candidate, Path(self.settings.out), self.task.name)
        if not interrupted:
            self.archive.finish_run(self.run_id)
        return Result(
            task=self.task,
            best=best[0] if best else None,
            evaluation=best[1] if best else None,
            evaluated=self.history,
            strongest=strongest,
            source_path=path,
            archive_url=self.settings.archive,
            interrupted=interrupted,
        )

    def tell(self, doing: str) -> None:
        best = select.best(self.history)
        self.on_progress(
            Progress(
                task=self.task.name,
                doing=doing,
                best=best[1].speedup if best else None,
                n_done=len(self.history),
                seconds_left=max(0.0, self.deadline - time.monotonic()),
            )
        )


def optimize_suite(
    entries: Sequence[SuiteEntry], *, settings: Settings, on_progress: OnProgress
) -> Iterator[Result]:
    """One search per task, each with the whole budget; a task that fails does not stop the rest."""
    for entry in entries:
        try:
            result = optimize(entry.task, settings=settings, on_progress=on_progress)
        except KernelwrightError as error:
            result = Result(entry.task, None, None, [], "", None, settings.archive, error=error)
        yield result
        if result.interrupted:
            return


def judge(task: Task, candidate: Candidate, *, settings: Settings) -> Evaluation:
    """One verdict on a candidate, by whomever it was written.

    Raises:
        TaskError: the task cannot be run.
        DialectError: the candidate's dialect cannot run on the device.
    """
    device = resolve(Device.parse(settings.device))
    usable_dialects((candidate.dialect,), device)
    check(task, device.torch_name)
    with Judge(task, device=device, settings=settings) as court:
        return court.evaluate(candidate)


def usable_dialects(asked: Sequence[str], device: Device) -> tuple[str, ...]:
    """The dialects asked for, or all that can run and be timed on ``device`` when none was.

    Raises:
        DialectError: one that was asked for cannot run here; the message says how to get it.
        UsageError: no such dialect.
    """
    group = "kernelwright.dialects"
    if not asked:
        found = [plugins.find(group, name) for name in plugins.names(group)]
        return tuple(d.name for d in found if not d.missing(device) and d.is_timed(device))
    for name in asked:
        missing = plugins.find(group, name).missing(device)
        if missing:
            raise DialectError(
                f'dialect "{name}" cannot run on {device} here',
                seen=missing.split(";")[0],
                do=missing,
            )
    return tuple(asked)


def describe(proposal: Proposal) -> str:
    """A proposal in a few words: its note, or else its last rule and its schedule."""
    choices = " ".join(f"{name}={value}" for name, value in proposal.schedule.items())
    return proposal.note or " ".join((*proposal.lineage[-1:], choices)) or "judging"


def write_source(candidate: Candidate, out: Path, name: str) -> Path:
    """Write the candidate's file; the same candidate gives the same path."""
    out.mkdir(parents=True, exist_ok=True)
    short = candidate.digest.removeprefix("b2:")[:10]
    path = out / f"{name}-{candidate.dialect}-{short}.py"
    path.write_text(candidate.source)
    return path
