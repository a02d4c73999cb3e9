"""The fast judge: verdicts for training, by trials in a warm process, some of them audited.

A grammar admits an answer's text, or the answer is rejected. All admitted answers to a task share
one process with one context: each is checked once on the task's inputs, and the right ones are
timed in turns beside the task's module in eager mode. No library setting is compiled, because a
group's mean cancels what they share. These are trials and no verdicts: an answer that is right on
one draw of inputs passes. So a stated share of the answers goes to the judge as well, whose verdict
counts where it refuses one, and every disagreement is logged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.digest import digest
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.trial import NO_JUDGE, Trial
from kernelwright.judge import Judge, SharedForkServer
from kernelwright.tuner.admission import refusal
from kernelwright.tuner.batches import measured
from kernelwright.tuner.process import process_for
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TUNER_VERSION, TrialRunner

STAGES = (8,)
"""Rounds of timing in which no answer drops out: a reward compares all of a group."""
MOST = 64
"""Answers of one race at most."""
NORMAL = "normal"
"""The key of ``Candidate.normal`` in the schedule of the fast judge's trials. Those of searches and
grids lack it: they pass an answer whose work the library does."""


@dataclass(frozen=True)
class Fast:
    """How the fast judge is audited."""

    audit: float
    """Share of the answers that the judge judges as well."""

    def audits(self, candidate: Candidate) -> bool:
        """Whether an answer is among those: the same in every run, and nobody can choose it."""
        drawn = digest("audit", candidate.normal).removeprefix("b2:")[:8]
        return int(drawn, 16) / 0xFFFFFFFF < self.audit


def can_try(judge: Judge) -> bool:
    """Whether a task's answers can be tried in a process that they share."""
    return not why_untunable(judge)


def past_trials(archive: Archive, judge: Judge) -> dict[str, Trial]:
    """Return the fast judge's trials of a task in this environment, by ``Candidate.normal``."""
    found = archive.trials(
        judge.task.digest, environment=judge.environment.digest, version=TUNER_VERSION
    )
    return {trial.schedule[NORMAL]: trial for trial in found if NORMAL in trial.schedule}


def trials_of(
    judge: Judge, candidates: Sequence[Candidate], fork_server: SharedForkServer
) -> dict[str, Trial]:
    """Return the trials of admitted candidates, by ``Candidate.normal``; none if the reference has
    no sure answer.

    Raises:
        DeviceError: the tuner's process cannot be started.
    """
    question = question_of(judge) if candidates else None
    if question is None:
        return {}
    dialects = sorted({candidate.dialect for candidate in candidates})
    proposals = [
        Proposal(candidate, "policy", schedule={NORMAL: candidate.normal})
        for candidate in candidates
    ]
    with process_for(judge, dialects, fork_server) as process:
        process.is_ours_only = False
        process.give(question)
        runner = TrialRunner(process, judge.device_lock, must_work=True)
        with runner.at_work():
            races = [*measured(process, runner, proposals, most=MOST, stages=STAGES)]
    return {proposal.candidate.normal: trial for race in races for proposal, trial in race}


def rejection(judge: Judge, candidate: Candidate) -> Evaluation | None:
    """Return what stands for a verdict on an answer that the grammar does not admit; None if it is
    admitted."""
    why = refusal(candidate.source)
    if not why:
        return None
    return Evaluation(
        task=judge.task.digest,
        workload=judge.workload.digest,
        candidate=candidate.digest,
        status=Status.REJECTED,
        reasons=(Reason(ReasonCode.NOT_ADMITTED, why),),
        environment=judge.environment,
        seed=0,
        judge_version=NO_JUDGE,
    )


def disagree(fast: Evaluation, audit: Evaluation) -> bool:
    """Whether the judge found an answer right that the fast judge found wrong, or the reverse."""
    return fast.passed != (audit.passed and audit.is_own)
