"""AdmittedTrials: what models write is tried before it is judged, if a grammar admits its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Trial
from kernelwright.tuner.admission import refusal
from kernelwright.tuner.process import TunerProcess
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TrialRunner

if TYPE_CHECKING:
    from kernelwright.judge import Judge

SLOWER = 1.25
"""Times of the best trial above which a right candidate is not worth a verdict."""


class AdmittedTrials:
    """Tells which candidates of models need no verdict: those that are right and clearly slower
    than the best trial so far.

    What the grammar refuses and what a trial finds wrong goes to the judge, whose reasons teach the
    model.
    """

    def __init__(self, judge: Judge, process: TunerProcess) -> None:
        self._judge, self._process = judge, process
        process.is_ours_only = False
        self._runner: TrialRunner | None = None
        self._is_open = False
        self._best_ns = float("inf")

    def slower(self, proposal: Proposal) -> Trial | None:
        """Return the trial of a candidate that is not worth a verdict; None for all others.

        Raises:
            DeviceError: the tuner's process cannot be started.
        """
        if refusal(proposal.candidate.source):
            return None
        runner = self._opened()
        if runner is None:
            return None
        with runner.at_work():  # a verdict may need all of the memory
            [trial] = runner.measure([proposal])
        if trial.time_ns is None:
            return None
        is_slower = trial.time_ns > SLOWER * self._best_ns
        self._best_ns = min(self._best_ns, trial.time_ns)
        return trial if is_slower else None

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
