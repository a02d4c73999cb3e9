"""AdmittedTrials: what models write is tried before it is judged, if a grammar admits its text."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.core import schedule_line
from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Trial
from kernelwright.tuner.admission import refusal
from kernelwright.tuner.batches import measured
from kernelwright.tuner.lines import schedules, under
from kernelwright.tuner.process import TunerProcess
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TrialRunner
from kernelwright.tuner.tuner import BATCH

if TYPE_CHECKING:
    from kernelwright.judge import Judge

SLOWER = 1.25
"""Times of the best trial above which a right candidate is not worth a verdict."""
N_SCHEDULES = 16
"""Schedules under which a program with a schedule line is tried, its own among them."""


@dataclass(frozen=True)
class TriedAnswer:
    """The result of trying a model's candidate."""

    best: Proposal | None
    """The candidate to judge: the fastest of its schedules, or itself if nothing was measured. None
    if that is clearly slower than the best trial of before, or known."""
    trials: tuple[Trial, ...] = ()


class AdmittedTrials:
    """Chooses the schedule under which a model's candidate is judged, and whether it is.

    A candidate with a schedule line is tried under several schedules. What the grammar refuses and
    what every trial finds wrong goes to the judge, whose reasons teach the model.
    """

    def __init__(self, judge: Judge, process: TunerProcess) -> None:
        self._judge, self._process = judge, process
        process.is_ours_only = False
        self._runner: TrialRunner | None = None
        self._is_open = False
        self._best_ns = float("inf")

    def tried(self, proposal: Proposal, seen: Container[str] = ()) -> TriedAnswer:
        """Try a candidate, and say what is to be judged in its place: nothing whose
        ``Candidate.normal`` was ``seen``.

        Raises:
            DeviceError: the tuner's process cannot be started.
        """
        runner = None if refusal(proposal.candidate.source) else self._opened()
        if runner is None:
            return TriedAnswer(proposal)
        most = BATCH[self._judge.device.kind]
        with runner.at_work():  # a verdict may need all of the memory
            races = measured(self._process, runner, _variants(proposal), most=most)
            pairs = [pair for race in races for pair in race]
        trials = tuple(trial for _, trial in pairs)
        timed = [(trial.time_ns, one) for one, trial in pairs if trial.time_ns is not None]
        if not timed:
            return TriedAnswer(proposal, trials)
        best_ns, best = min(timed, key=lambda pair: pair[0])
        is_known = best != proposal and best.candidate.normal in seen
        is_slower = best_ns > SLOWER * self._best_ns
        self._best_ns = min(self._best_ns, best_ns)
        return TriedAnswer(None if is_slower or is_known else best, trials)

    def _opened(self) -> TrialRunner | None:
        """Return what measures; None if the task cannot be tried."""
        if not self._is_open:
            self._is_open = True
            if not why_untunable(self._judge):
                self._runner = TrialRunner(self._process, self._judge.device_lock)
        if self._runner is not None and not self._process.has_question:
            question = question_of(self._judge)
            if question is None:
                self._runner = None
            else:
                self._process.give(question)
        return self._runner


def _variants(proposal: Proposal) -> Iterator[Proposal]:
    """Yield a candidate, and the same under other schedules if it has a schedule line."""
    candidate = proposal.candidate
    yield proposal
    if own := schedule_line.read(candidate.source):
        for schedule in schedules(candidate.source, N_SCHEDULES, candidate.digest):
            if schedule != own:
                yield under(proposal, schedule)
