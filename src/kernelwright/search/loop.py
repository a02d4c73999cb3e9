"""The loop, the only one: Brief → Proposer → Candidate → Judge → Evaluation → Archive → Brief."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.archive import Archive, ranking
from kernelwright.core import plugins
from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.usable import usable_dialects
from kernelwright.judge import JUDGE_VERSION, Judge, Nursery, library_candidate
from kernelwright.judge.baselines import EAGER
from kernelwright.proposers.base import Proposer, WaitingProposer
from kernelwright.proposers.feed import Feed, require_an_answer
from kernelwright.proposers.from_archive import CarriedProposer
from kernelwright.proposers.usable import check_proposers
from kernelwright.search.result import (
    History,
    OnProgress,
    Progress,
    Result,
    require_source,
    write_source,
)
from kernelwright.suites.suite import SuiteEntry

N_EXEMPLARS = 6  # enough for parent, better, worse and failed ones of two dialects
MIN_TRIED = 3
"""A share of the time that slow baselines have spent still buys a first look at the candidates.
Past the end of the budget only those are looked at that were begun before, and for as long again
at most; the first one in any case."""
N_CONFIRMED = 3  # the best of many noisy measurements is flattered; at most so many get another
CONFIRM_TIME_S, CONFIRM_SHARE = 4.0, 0.2
"""Of rounds, and of the budget at most: decides a gain that a first look leaves open."""


def optimize(
    task: Task, *, settings: Settings, on_progress: OnProgress = lambda progress: None,
    nursery: Nursery | None = None, stops_early: bool = False,
) -> Result:  # fmt: skip
    """Search for a kernel that beats the strongest library setting, within the budget.

    With ``stops_early`` nothing is proposed where the strongest setting is as fast as a copy.

    Everything proposed and judged goes to the archive at once. A search that was stopped goes on
    where it was: what the archive holds for this task, machine and judge is not judged again.

    Raises:
        TaskError: the task cannot be run, or its name is too long for a file's.
        DialectError: no dialect asked for can run on the device.
        DeviceError: the machine failed.
        ProposerError: a model cannot be asked at all; what others answered is in the archive.
        OSError: nothing can be written to the folder for sources.
    """
    require_source(settings.out, task.name)
    task = task.in_precision(settings.precision)
    device = resolve(Device.parse(settings.device))
    dialects = usable_dialects(settings.dialects, device)
    check_proposers(Brief(task, device, dialects, **_limits(settings)), settings.proposers)
    with (
        Archive(settings.archive) as archive,
        Judge(task, device=device, settings=settings, nursery=nursery) as judge,
    ):
        search = _Search(task, device, dialects, settings, archive, judge, on_progress)
        try:
            search.ended = judge.nothing_to_win() if stops_early else {}
            if not search.ended:
                search.run()
            best, interrupted = search.confirm(), False
        except KeyboardInterrupt:
            best, interrupted = ranking.best(search.history), True
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
    by_heat: set[str] = field(default_factory=set)
    """Candidates that this run's heats chose: their verdicts took as long as a confirming one."""
    ended: dict[str, Any] = field(default_factory=dict)
    """Why nothing was proposed, with what was measured."""
    reasons: list[str] = field(default_factory=list)
    """Why proposers had nothing to propose."""
    has_begun: bool = False
    """Whether this run has handed a candidate to the judge."""

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.settings.budget_s
        self.archive.add_task(self.task, [self.judge.workload])
        self.run_id = self.archive.start_run(self.task, self.settings)
        whole = self.archive.history(self.task.digest)
        here = (self.judge.environment.digest, JUDGE_VERSION)
        mine = [p for p in whole if (p[1].environment.digest, p[1].judge_version) == here]
        self.history += [p for p in mine if not self.is_untimed(*p)]
        known = {proposal.candidate.digest for proposal, _ in self.history}
        self.elsewhere = ranking.best_of_each([p for p in whole if p[1].candidate not in known])
        self.seen = {
            proposal.candidate.normal
            for proposal, found in self.history
            if found.status is not Status.INFRA_ERROR  # the machine's fault: it is tried again
        }
        self.calls = self.archive.calls(self.task.digest)
        self.trials = tuple(self.archive.trials(without_task=self.task.digest))

    def run(self) -> None:
        """Rounds of brief, proposals and verdicts, until the budget or the proposers are spent;
        before them what won elsewhere.

        In a round every proposer may use an equal share of the time that is left, so that what the
        first finds is shown to the next.
        """
        proposers = [plugins.find("kernelwright.proposers", n) for n in self.settings.proposers]
        if self.elsewhere:
            self.pull(CarriedProposer(), self.deadline)
        while True:
            n_round = len(self.history)
            for place, proposer in enumerate(proposers):
                if self.is_over():
                    break
                left_s = self.deadline - time.monotonic()
                until = time.monotonic() + left_s / (len(proposers) - place)
                if isinstance(proposer, WaitingProposer):
                    self.listen(proposer, until)
                else:
                    self.pull(proposer, until)
            if len(self.history) == n_round or time.monotonic() > self.deadline:
                if not self.history:
                    require_an_answer([c for c in self.calls if c.id >= self.run_id])
                return

    def pull(self, proposer: Proposer, until: float) -> None:
        """One round of a proposer that works only when it is asked, the next ones built ahead."""
        brief = self.brief(until)
        taken: deque[Proposal] = deque()

        def unseen() -> Iterator[Candidate]:
            for proposal in self.said(proposer.propose(brief)):
                if self.is_over():
                    return
                if proposal.candidate.normal not in self.seen:
                    self.has_begun = True
                    self.seen.add(proposal.candidate.normal)
                    taken.append(proposal)
                    self.tell(f"{proposal.candidate.dialect}: {proposal.gist}")
                    yield proposal.candidate

        n_tried = 0
        with contextlib.closing(self.verdicts(unseen())) as heats:
            for heat in heats:
                for evaluation in heat:
                    proposal = taken.popleft()
                    if evaluation is not None:
                        self.record(proposal, brief, evaluation)
                        if self.judge.heat > 1:
                            self.by_heat.add(proposal.candidate.digest)
                n_tried += len(heat)
                if self.is_late(until, n_tried):
                    break
        self.seen -= {proposal.candidate.normal for proposal in taken}

    def said(self, proposals: Iterator[Proposal]) -> Iterator[Proposal]:
        """The proposals, and what their end says is kept."""
        reason = yield from proposals
        if reason and reason not in self.reasons:
            self.reasons.append(reason)

    def verdicts(self, candidates: Iterator[Candidate]) -> Iterator[list[Evaluation | None]]:
        """Of those, in order; None for one that was slower than others of its heat."""
        timed = self.settings.timed
        if timed and self.judge.heat > 1:
            yield from self.judge.evaluate_fastest(candidates, max_time_s=self.longest_s)
            return
        line = self.judge.evaluate_all(candidates, timed=timed, first_look=True)
        with contextlib.closing(line) as found:
            for evaluation in found:
                yield [evaluation]

    def listen(self, proposer: WaitingProposer, until: float) -> None:
        """Rounds of a proposer that waits for others, judging meanwhile.

        Not meanwhile where its models run on the machine that candidates are timed on.
        """
        n_before = len(self.history)
        takes_turns = self.is_timed and proposer.shares(self.brief(until))
        with Feed(proposer, lambda: self.brief(until), self.keep, takes_turns=takes_turns) as feed:
            for said, brief in feed:
                if isinstance(said, Call):
                    self.tell(f"{said.model}: {said.purpose}, {said.outcome}")
                elif self.is_over() or self.is_late(until, len(self.history) - n_before):
                    return
                elif said.candidate.normal not in self.seen:
                    self.evaluate(said, brief)

    def is_late(self, until: float, n_tried: int) -> bool:
        """Whether a proposer's time is spent, and enough was tried with it."""
        is_long_over = time.monotonic() > self.deadline + self.settings.budget_s
        return time.monotonic() > until and n_tried >= (1 if is_long_over else MIN_TRIED)

    def is_over(self) -> bool:
        """Whether nothing else may be begun: the budget is spent, if on one candidate alone."""
        return time.monotonic() > self.deadline and self.has_begun

    def is_untimed(self, proposal: Proposal, found: Evaluation) -> bool:
        """Whether it was only found right, where nothing was timed, and this search times such."""
        is_right_alone = self.settings.timed and found.passed and found.timing is None
        name = proposal.candidate.dialect
        return is_right_alone and name in self.dialects and self.is_clocked(name)

    def is_clocked(self, dialect: str) -> bool:
        """Whether kernels in it are timed here: an interpreter's time says nothing."""
        return plugins.find("kernelwright.dialects", dialect).is_timed(self.device)

    @property
    def is_timed(self) -> bool:
        """Whether any candidate is."""
        return self.settings.timed and any(map(self.is_clocked, self.dialects))

    @property
    def longest_s(self) -> float:
        """How long a verdict may be timed that is the last on its candidate."""
        return min(CONFIRM_TIME_S, CONFIRM_SHARE * self.settings.budget_s)

    def keep(self, call: Call) -> None:
        """Archive a call as soon as it has been paid for."""
        self.archive.add_call(self.run_id, call)
        self.calls.append(call)

    def spent(self) -> tuple[int, float]:
        """Tokens and USD of this run."""
        calls = [call for call in list(self.calls) if call.id >= self.run_id]
        return sum(c.tokens for c in calls), sum(c.cost_usd or 0.0 for c in calls)

    def brief(self, until: float) -> Brief:
        """What a proposer is told that may work until then."""
        tokens, usd = self.spent()
        told = _limits(self.settings)
        if told["budget_tokens"] is not None:
            told["budget_tokens"] -= tokens
        if told["budget_usd"] is not None:
            told["budget_usd"] -= usd
        history = list(self.history)
        return Brief(
            task=self.task,
            device=self.device,
            dialects=self.dialects,
            exemplars=tuple(ranking.exemplars(history, N_EXEMPLARS, seed=self.settings.seed)),
            budget_s=max(0.0, until - time.monotonic()),
            seed=self.settings.seed,
            threads=self.judge.threads,
            timed=self.settings.timed,
            history=tuple(history),
            elsewhere=self.elsewhere,
            calls=tuple(self.calls),
            since=self.run_id,
            trials=self.trials,
            **told,
        )

    def evaluate(self, proposal: Proposal, brief: Brief) -> None:
        """Judge the proposal, and archive it with its verdict."""
        self.tell(f"{proposal.candidate.dialect}: {proposal.gist}")
        self.has_begun = True
        self.seen.add(proposal.candidate.normal)
        found = self.judge.evaluate(proposal.candidate, timed=self.settings.timed)
        self.record(proposal, brief, found)

    def record(self, proposal: Proposal, brief: Brief, evaluation: Evaluation) -> None:
        self.archive.add_proposal(self.run_id, proposal, brief.exemplars)
        self.archive.add_evaluation(self.run_id, evaluation)
        self.history.append((proposal, evaluation))

    def confirm(self) -> tuple[Proposal, Evaluation] | None:
        """The best that wins when it is measured once more, for longer; None when nothing does.

        What a heat has chosen, and no other verdict, was measured so already.
        """
        if not self.is_timed:
            return None
        promising = ranking.promising(self.history)[:N_CONFIRMED]
        if len(promising) == 1 and self.is_final(*promising[0]):
            return promising[0]
        for proposal, _ in promising:
            self.tell(f"measuring again {proposal.candidate.dialect}: {proposal.gist}")
            again = self.judge.evaluate(proposal.candidate, max_time_s=self.longest_s)
            self.archive.add_evaluation(self.run_id, again)
            if ranking.wins(again):
                return proposal, again
        return None

    def is_final(self, proposal: Proposal, evaluation: Evaluation) -> bool:
        return proposal.candidate.digest in self.by_heat and ranking.wins(evaluation)

    def finish(self, best: tuple[Proposal, Evaluation] | None, interrupted: bool) -> Result:
        """Write the best source, or the library setting that nothing beat, and close the run."""
        is_early = time.monotonic() < self.deadline
        is_known = self.is_timed and (is_early or any(e.timing for _, e in self.history))
        strongest = self.judge.strongest if is_known else ""
        candidate = best[0].candidate if best else library_candidate(self.task, strongest or EAGER)
        path = write_source(candidate, Path(self.settings.out), self.task.name)
        if not interrupted:
            ended = {**found_on(self.judge), **self.ended, **self.judge.copying()}
            self.archive.finish_run(self.run_id, ended)
        return Result(
            task=self.task,
            best=best[0] if best else None,
            evaluation=best[1] if best else None,
            evaluated=self.history,
            strongest=strongest,
            source_path=path,
            archive_url=self.settings.archive,
            interrupted=interrupted,
            reasons=tuple(self.reasons),
        )

    def tell(self, doing: str) -> None:
        best = ranking.best(self.history)
        tokens, usd = self.spent()
        self.on_progress(
            Progress(
                task=self.task.name,
                doing=doing,
                best=best[1].speedup if best else None,
                n_done=len(self.history),
                seconds_left=max(0.0, self.deadline - time.monotonic()),
                tokens=tokens,
                cost_usd=usd,
            )
        )


def found_on(judge: Judge) -> dict[str, Any]:
    """What a run's end is kept with: on what, and by which judge, all that it found was found."""
    there = judge.environment
    return {"device": there.device, "environment": dict(there.facts), "judge": JUDGE_VERSION}


def _limits(settings: Settings) -> dict[str, Any]:
    """What a brief says about models and what they may cost."""
    return {
        "models": settings.models,
        "contexts": settings.contexts,
        "attached": settings.attached,
        "prices": settings.prices,
        "budget_tokens": settings.budget_tokens or None,
        "budget_usd": settings.budget_usd or None,
    }


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
    task = task.in_precision(settings.precision)
    device = resolve(Device.parse(settings.device))
    usable_dialects((candidate.dialect,), device)
    with Judge(task, device=device, settings=settings) as court:
        return court.evaluate(candidate, timed=settings.timed)
