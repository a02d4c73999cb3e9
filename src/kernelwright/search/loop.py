"""The search loop: Brief → Proposer → Candidate → Judge → Evaluation → Archive → Brief."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from kernelwright.archive import Archive, ranking
from kernelwright.archive.conclusion import conclusion
from kernelwright.core import plugins
from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import EMULATED, Device
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import Trial
from kernelwright.dialects.base import Dialect
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.usable import usable_dialects
from kernelwright.judge import JUDGE_VERSION, Judge, SharedForkServer
from kernelwright.judge.baselines.library_settings import EAGER
from kernelwright.judge.kinds.kinds import KERNEL
from kernelwright.loaders.training_step import as_judged, training_step
from kernelwright.proposers.base import Proposer, WaitingProposer
from kernelwright.proposers.emitted import outdated
from kernelwright.proposers.feed import Feed, require_an_answer
from kernelwright.proposers.from_archive import CarriedProposer
from kernelwright.proposers.rules import RulesProposer
from kernelwright.proposers.usable import check_proposers
from kernelwright.search.brief import brief_of
from kernelwright.search.judging import final_time_s, found_on
from kernelwright.search.library_candidate import library_candidate
from kernelwright.search.result import (
    History,
    OnProgress,
    Progress,
    Result,
    require_source,
    write_source,
)
from kernelwright.search.time_limit import TimeLimit
from kernelwright.suites.suite import SuiteEntry
from kernelwright.tuner.admitted import AdmittedTrials
from kernelwright.tuner.cost_model import MOST_TRIALS
from kernelwright.tuner.process import TunerProcess, process_for
from kernelwright.tuner.proposer import TunedRules
from kernelwright.tuner.trials import TUNER_VERSION

N_EXEMPLARS = 6
"""Exemplars in a brief: enough for parent, better, worse and failed ones of two dialects."""
MIN_TRIED = 3
"""Candidates that a proposer may try even if slow baselines have used up its share of the time.
After the end of the budget only candidates that were begun before it are judged, for at most as
long again as the budget; the first candidate is judged in any case."""
N_CONFIRMED = 3
"""Candidates that are measured again at most, besides winners that turn out to be none. The best of
many noisy measurements looks better than it is."""


def optimize(
    task: Task,
    *,
    settings: Settings,
    on_progress: OnProgress = lambda progress: None,
    fork_server: SharedForkServer | None = None,
    stops_early: bool = False,
    limit_s: float = math.inf,
    also: Sequence[Proposal] = (),
) -> Result:
    """Search for a kernel that beats the strongest library setting, within the budget.

    With ``stops_early`` nothing is proposed if the strongest setting is as fast as a copy. Where
    the caller stops the search after ``limit_s`` seconds, it begins nothing that would keep the
    best candidate from its verdict until then; the budget is the same otherwise. The
    candidates of ``also`` are judged after the search, unless they have a verdict.

    Every proposal and verdict goes to the archive at once. A search that was stopped resumes where
    it was: candidates with a verdict for this task, machine and judge are not judged again.

    Raises:
        TaskError: the task cannot be run, or its name is too long for a file name.
        DialectError: none of the requested dialects can run on the device.
        DeviceError: the machine failed.
        ProposerError: a model cannot be asked; the answers of other models are in the archive.
        OSError: the folder for sources is not writable.
    """
    limit = TimeLimit(limit_s)
    task = asked_for(task, settings)
    require_source(settings.out, task.name)
    device = resolve(Device.parse(settings.device))
    dialects = usable_dialects(settings.dialects, device)
    check_proposers(brief_of(task, device, dialects, settings), settings.proposers)
    judge = Judge(task, device=device, settings=settings, fork_server=fork_server)
    with contextlib.ExitStack() as stack:
        archive = stack.enter_context(Archive(settings.archive))
        tuner = None
        tries_rules = any(map(is_built_in_rules, settings.proposers))
        if settings.timed and (tries_rules or settings.try_admitted):
            tuner = stack.enter_context(process_for(judge, dialects, fork_server))
            tuner.warm_up_beside(judge.device_lock)
        stack.enter_context(judge)
        if tuner is not None:
            judge.take_builds(tuner.ready_builds)
        search = _Search(
            task, device, dialects, settings, archive, judge, on_progress, tuner, limit
        )
        try:
            if stops_early:
                search.get_ready()
                search.ended = judge.nothing_to_win()
            if not search.ended:
                search.run()
            search.confirm()
            search.judge_too(also)
            return search.finish(interrupted=False)
        except KeyboardInterrupt:
            return search.finish(interrupted=True)


def asked_for(task: Task, settings: Settings) -> Task:
    """Return the task as the settings ask for it, or the training step of it.

    Raises:
        TaskError: the task has nothing to train.
        UsageError: its text allows another precision, or asks for another mode.
    """
    return settings.applied_to(training_step(task) if settings.backward else task)


@dataclass
class _Search:
    """One search: its fixed parts and its growing history."""

    task: Task
    device: Device
    dialects: tuple[str, ...]
    settings: Settings
    archive: Archive
    judge: Judge
    on_progress: OnProgress
    tuner: TunerProcess | None = None
    """The process that candidates of the built-in rules are tried in, if there are any."""
    limit: TimeLimit = field(default_factory=TimeLimit)
    history: History = field(default_factory=list)
    chosen_in_batch: set[str] = field(default_factory=set)
    """Digests of the candidates that were the fastest of their batch in this run: their verdicts
    were timed as long as a confirming one."""
    ended: dict[str, Any] = field(default_factory=dict)
    """The reason why nothing was proposed, with the measurements behind it."""
    reasons: list[str] = field(default_factory=list)
    """The reasons why proposers had nothing to propose."""
    has_begun: bool = False
    """Whether this run has handed a candidate to the judge."""
    n_trials: int = 0
    """Number of candidates that the tuner has tried in this run."""
    trials_s: float = 0.0
    """Seconds from the start of the search to the last trial."""
    best_trial: float = 0.0
    """Best speedup over the reference in eager mode, by trial."""

    def __post_init__(self) -> None:
        self.admitted: AdmittedTrials | None = None
        if self.tuner is not None and self.settings.try_admitted and self.is_timed:
            self.admitted = AdmittedTrials(self.judge, self.tuner)
        self.start_clock()
        self.archive.add_task(self.task, [self.judge.workload])
        self.run_id = self.archive.start_run(self.task, self.settings)
        whole = self.archive.history(self.task.digest)
        here = (self.judge.environment.digest, JUDGE_VERSION)
        mine = [p for p in whole if (p[1].environment.digest, p[1].judge_version) == here]
        old = outdated(self.archive.proposals(self.task.digest))
        current = [p for p in mine if p[0].candidate.digest not in old]
        self.history += [p for p in current if not self.is_untimed(*p)]
        known = {proposal.candidate.digest for proposal, _ in self.history}
        self.elsewhere = ranking.best_of_each([p for p in whole if p[1].candidate not in known])
        self.seen = {
            proposal.candidate.normal
            for proposal, found in self.history
            if found.status is not Status.INFRA_ERROR  # the machine failed, so it is tried again
        }
        self.calls = self.archive.calls(self.task.digest)
        self.past_calls = tuple(self.archive.past_calls(without_task=self.task.digest))

    def run(self) -> None:
        """Run rounds of brief, proposals and verdicts until budget or proposers are exhausted.

        The winners of other environments are judged first. In a round every proposer may use an
        equal share of the remaining time, and its results are shown to the next one.
        """
        self.start_clock()
        self.answer_at_once()
        proposers = self.proposers
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

    def start_clock(self) -> None:
        """Let the budget begin now."""
        self.began_s = time.monotonic()

    @property
    def deadline(self) -> float:
        """The time of the monotonic clock at which the budget is spent, or at which the verdict on
        the best candidate must begin."""
        return min(self.began_s + self.settings.budget_s, self.limit.last_start_s)

    @functools.cached_property
    def proposers(self) -> list[Proposer | WaitingProposer]:
        """The proposers, in order."""
        return [*map(self.proposer, self.settings.proposers)]

    def get_ready(self) -> None:
        """Start the library settings, and the worker for trials meanwhile, where memory allows."""
        for proposer in self.proposers:
            if isinstance(proposer, TunedRules) and not self.judge.is_crowded:
                proposer.get_ready(self.brief(self.deadline))

    def answer_at_once(self) -> None:
        """Write the kernel that an earlier search found here, if any; this search goes on from
        it."""
        best = ranking.best(self.history)
        if best is None or not self.is_timed:
            return
        proposal, found = best
        path = write_source(proposal.candidate, Path(self.settings.out), self.task.name)
        date = self.archive.judged_at(found).partition("T")[0]
        self.notice(f"judged on {date}, now in {path}; the search goes on")

    def proposer(self, name: str) -> Proposer | WaitingProposer:
        """Return the proposer of this name; the built-in rules with trials before verdicts.

        Nobody else's candidates are run in a process that many share.
        """
        if self.tuner is None or not self.is_timed or not is_built_in_rules(name):
            return cast("Proposer | WaitingProposer", plugins.find("kernelwright.proposers", name))
        known = self.archive.trials(
            self.task.digest, environment=self.judge.environment.digest, version=TUNER_VERSION
        )
        past = self.archive.past_trials(
            device=self.judge.environment.device,
            version=TUNER_VERSION,
            n=MOST_TRIALS,
            without_task=self.task.digest,
        )
        return TunedRules(
            self.judge,
            self.tuner,
            known=known,
            past=past,
            on_trials=self.keep_trials,
            tell=self.notice,
        )

    def keep_trials(self, trials: Sequence[Trial]) -> None:
        """Archive trials as soon as they are measured."""
        self.archive.add_trials(self.run_id, self.judge.environment, TUNER_VERSION, trials)
        self.n_trials += len(trials)
        self.trials_s = time.monotonic() - self.began_s
        best = max((trial.speedup or 0.0 for trial in trials), default=0.0)
        self.best_trial = max(self.best_trial, best)
        self.tell(f"trying: best {self.best_trial:.2f} × eager")

    def pull(self, proposer: Proposer, until: float) -> None:
        """Run one round of a proposer that computes on demand; candidates are built ahead."""
        brief = self.brief(until)
        taken: deque[Proposal] = deque()

        def unseen() -> Iterator[Candidate]:
            for proposal in self.with_reason(proposer.propose(brief)):
                if self.is_over():
                    return
                proposal = self.as_judged(proposal)
                if proposal.candidate.normal not in self.seen:
                    self.has_begun = True
                    self.seen.add(proposal.candidate.normal)
                    taken.append(proposal)
                    self.tell(f"{proposal.candidate.dialect}: {proposal.summary}")
                    yield proposal.candidate

        n_tried = 0
        with contextlib.closing(self.verdicts(unseen())) as batches:
            for batch in batches:
                for evaluation in batch:
                    proposal = taken.popleft()
                    if evaluation is not None:
                        self.record(proposal, brief, evaluation)
                        if self.judge.batch_size > 1:
                            self.chosen_in_batch.add(proposal.candidate.digest)
                n_tried += len(batch)
                if self.is_late(until, n_tried):
                    break
        self.seen -= {proposal.candidate.normal for proposal in taken}

    def with_reason(self, proposals: Iterator[Proposal]) -> Iterator[Proposal]:
        """Yield the proposals, and keep the reason that the generator returns, if any."""
        # An iterator that is no generator gives None here.
        reason = yield from cast("Generator[Proposal, None, str | None]", proposals)
        if reason and reason not in self.reasons:
            self.reasons.append(reason)

    def verdicts(
        self, candidates: Iterator[Candidate]
    ) -> Generator[list[Evaluation | None], None, None]:
        """Yield verdicts in order, batch by batch.

        A verdict is None if a faster candidate of the same batch was judged instead.
        """
        timed = self.settings.timed
        if timed and self.judge.batch_size > 1:
            yield from self.judge.evaluate_fastest(candidates, max_time_s=self.longest_s)
            return
        line = self.judge.evaluate_all(candidates, timed=timed, first_look=True)
        with contextlib.closing(line) as found:
            for evaluation in found:
                yield [evaluation]

    def listen(self, proposer: WaitingProposer, until: float) -> None:
        """Run rounds of a proposer that waits for models, and judge in the meantime.

        If the models run on the machine that candidates are timed on, judging waits for them.
        """
        n_before = len(self.history)
        takes_turns = self.is_timed and proposer.shares(self.brief(until))
        with Feed(proposer, lambda: self.brief(until), self.keep, takes_turns=takes_turns) as feed:
            for item, brief in feed:
                if isinstance(item, Call):
                    self.tell(f"{item.model}: {item.purpose}, {item.outcome}")
                elif self.is_over() or self.is_late(until, len(self.history) - n_before):
                    return
                elif (proposal := self.as_judged(item)).candidate.normal not in self.seen:
                    self.evaluate(proposal, brief)

    def as_judged(self, proposal: Proposal) -> Proposal:
        return replace(proposal, candidate=as_judged(proposal.candidate, self.task))

    def is_late(self, until: float, n_tried: int) -> bool:
        """Whether a proposer has used up its time and has tried enough candidates, or any if the
        next verdict is not expected before the search is stopped."""
        if self.limit.is_near:
            return n_tried > 0
        is_long_over = time.monotonic() > self.deadline + self.settings.budget_s
        return time.monotonic() > until and n_tried >= (1 if is_long_over else MIN_TRIED)

    def is_over(self) -> bool:
        """Whether no candidate may be begun: the budget is spent and at least one was begun."""
        return time.monotonic() > self.deadline and self.has_begun

    def is_untimed(self, proposal: Proposal, found: Evaluation) -> bool:
        """Whether a verdict lacks the timing that this search would do.

        An earlier search without timing found the candidate correct.
        """
        is_right_alone = self.settings.timed and found.passed and found.timing is None
        name = proposal.candidate.dialect
        return is_right_alone and name in self.dialects and self.is_clocked(name)

    def is_clocked(self, dialect: str) -> bool:
        """Whether kernels in a dialect are timed here; an interpreter's times mean nothing."""
        found: Dialect = plugins.find("kernelwright.dialects", dialect)
        return found.is_timed(self.device)

    @property
    def is_timed(self) -> bool:
        """Whether any candidate is timed."""
        return self.settings.timed and any(map(self.is_clocked, self.dialects))

    @property
    def longest_s(self) -> float:
        """Seconds of timing that a candidate's final verdict may take."""
        return final_time_s(self.settings)

    def keep(self, call: Call) -> None:
        """Archive a call as soon as it is paid for."""
        self.archive.add_call(self.run_id, call)
        self.calls.append(call)

    def spent(self) -> tuple[int, float]:
        """Return the tokens and the USD that this run has spent."""
        calls = [call for call in list(self.calls) if call.id >= self.run_id]
        return sum(c.tokens for c in calls), sum(c.cost_usd or 0.0 for c in calls)

    def brief(self, until: float) -> Brief:
        """Return the brief of a proposer that may work until the time ``until``."""
        tokens, usd = self.spent()
        history = list(self.history)
        limits = brief_of(self.judge.judged_task, self.device, self.dialects, self.settings)
        left_tokens, left_usd = limits.budget_tokens, limits.budget_usd
        return replace(
            limits,
            exemplars=tuple(ranking.exemplars(history, N_EXEMPLARS, seed=self.settings.seed)),
            budget_s=max(0.0, until - time.monotonic()),
            budget_tokens=None if left_tokens is None else left_tokens - tokens,
            budget_usd=None if left_usd is None else left_usd - usd,
            seed=self.settings.seed,
            threads=self.judge.threads,
            timed=self.settings.timed,
            history=tuple(history),
            elsewhere=self.elsewhere,
            calls=tuple(self.calls),
            since=self.run_id,
            past_calls=self.past_calls,
        )

    def evaluate(self, proposal: Proposal, brief: Brief) -> None:
        """Judge the proposal, and archive it with its verdict; if models' candidates are tried,
        the fastest of its schedules in its place."""
        if self.admitted is not None:
            tried = self.admitted.tried(proposal, self.seen)
            self.keep_trials(tried.trials)
            self.seen.add(proposal.candidate.normal)
            if tried.best != proposal:  # the trials of its other schedules name it
                self.archive.add_proposal(self.run_id, proposal, brief.exemplars)
            if tried.best is None:
                return self.tell(f"{proposal.summary}: slower, not judged")
            proposal = tried.best
        self.tell(f"{proposal.candidate.dialect}: {proposal.summary}")
        self.has_begun = True
        self.seen.add(proposal.candidate.normal)
        verdict = self.judge.evaluate(proposal.candidate, timed=self.settings.timed)
        self.record(proposal, brief, verdict)

    def record(self, proposal: Proposal, brief: Brief, evaluation: Evaluation) -> None:
        self.archive.add_proposal(self.run_id, proposal, brief.exemplars)
        self.keep_verdict(proposal, evaluation)

    def keep_verdict(self, proposal: Proposal, evaluation: Evaluation) -> None:
        """Archive a verdict as soon as it is there."""
        self.archive.add_evaluation(self.run_id, evaluation)
        self.history.append((proposal, evaluation))
        self.limit.note(evaluation)

    def confirm(self) -> None:
        """Measure the candidates that may be the best again, for longer; the new verdicts count.

        A single promising candidate that was chosen in a batch was already timed for that long and
        is not measured again. Nothing is if the search would be stopped meanwhile.
        """
        if not self.is_timed:
            return
        promising = ranking.promising(self.history)
        if len(promising) == 1 and self.is_final(*promising[0]):
            return
        confirmed: set[str] = set()
        while not self.limit.is_near:
            pair = ranking.to_confirm(self.history, confirmed, n_most=self.n_to_confirm)
            if pair is None:
                return
            proposal = pair[0]
            self.tell(f"measuring again for {self.longest_s:.0f} s or so: {proposal.summary}")
            again = self.judge.evaluate(proposal.candidate, max_time_s=self.longest_s)
            self.keep_verdict(proposal, again)
            confirmed.add(proposal.candidate.digest)

    @property
    def n_to_confirm(self) -> int:
        """The number of candidates to measure again: one if a winner is there and time is up."""
        has_won = ranking.best(self.history) is not None
        return 1 if has_won and time.monotonic() > self.deadline else N_CONFIRMED

    def judge_too(self, proposals: Sequence[Proposal]) -> None:
        """Judge candidates of other searches, timed as long as a confirming verdict."""
        known = {proposal.candidate.digest for proposal, _ in self.history}
        for proposal in proposals:
            if proposal.candidate.digest not in known:
                self.tell(f"measuring too {proposal.candidate.dialect}: {proposal.summary}")
                found = self.judge.evaluate(proposal.candidate, max_time_s=self.longest_s)
                self.record(replace(proposal, parent=None), self.brief(self.deadline), found)

    def is_final(self, proposal: Proposal, evaluation: Evaluation) -> bool:
        return proposal.candidate.digest in self.chosen_in_batch and ranking.wins(evaluation)

    def first_right(self) -> Proposal | None:
        """Return the first right kernel for a GPU that is emulated: no time chooses among them."""
        if self.device.arch != EMULATED:
            return None
        return next((p for p, e in self.history if e.passed and KERNEL in e.kinds), None)

    def finish(self, *, interrupted: bool) -> Result:
        """Write the best source, or the unbeaten library setting, and close the run."""
        best = conclusion(self.history).best
        may_measure = not interrupted and time.monotonic() < self.deadline
        is_known = self.is_timed and (may_measure or any(e.timing for _, e in self.history))
        strongest = self.judge.strongest if is_known else ""
        right = self.first_right()
        chosen = best[0] if best else right
        library = library_candidate(self.task, strongest or EAGER)
        candidate = chosen.candidate if chosen else library
        path = write_source(candidate, Path(self.settings.out), self.task.name)
        if not interrupted:
            ended = {**found_on(self.judge), **self.ended, **self.judge.copying()}
            ended["source"] = str(path)
            self.archive.finish_run(self.run_id, ended)
        return Result(
            task=self.task,
            best=best[0] if best else None,
            evaluation=best[1] if best else None,
            evaluated=self.history,
            strongest=strongest,
            source_path=path,
            first_right=right,
            archive_url=self.settings.archive,
            interrupted=interrupted,
            reasons=tuple(self.reasons),
            device=self.judge.environment.device,
        )

    def notice(self, text: str) -> None:
        """Report what must not be passed over."""
        self.tell(text, is_notice=True)

    def tell(self, doing: str, *, is_notice: bool = False) -> None:
        best = ranking.best(self.history)
        tokens, usd = self.spent()
        self.on_progress(
            Progress(
                task=self.task.name,
                doing=doing,
                best=best[1].speedup if best else None,
                n_done=len({proposal.candidate.digest for proposal, _ in self.history}),
                seconds_left=max(0.0, self.deadline - time.monotonic()),
                tokens=tokens,
                cost_usd=usd,
                n_trials=self.n_trials,
                trials_per_s=self.n_trials / self.trials_s if self.trials_s else 0.0,
                is_notice=is_notice,
            )
        )


def is_built_in_rules(name: str) -> bool:
    """Whether the proposer of this name is our own, and not a plugin's."""
    return type(plugins.find("kernelwright.proposers", name)) is RulesProposer


def optimize_suite(
    entries: Sequence[SuiteEntry], *, settings: Settings, on_progress: OnProgress
) -> Iterator[Result]:
    """Search each task with the whole budget; a task that fails does not stop the others."""
    for entry in entries:
        try:
            result = optimize(entry.task, settings=settings, on_progress=on_progress)
        except KernelwrightError as error:
            result = Result(entry.task, None, None, [], "", None, settings.archive, error=error)
        yield result
        if result.interrupted:
            return


def judge(task: Task, candidate: Candidate, *, settings: Settings) -> Evaluation:
    """Judge one candidate, whoever wrote it.

    Raises:
        TaskError: the task cannot be run.
        DialectError: the candidate's dialect cannot run on the device.
    """
    task = asked_for(task, settings)
    device = resolve(Device.parse(settings.device))
    usable_dialects((candidate.dialect,), device)
    with Judge(task, device=device, settings=settings) as opened:
        verdict: Evaluation = opened.evaluate(candidate, timed=settings.timed)
        return verdict
