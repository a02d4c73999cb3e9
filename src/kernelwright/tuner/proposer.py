"""TunedRules: the rules' proposals, of which only the best by trial go to the judge."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from kernelwright.compiler.capture.capture import CannotCapture
from kernelwright.core import plugins
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.errors import DeviceError
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.judge import Judge
from kernelwright.proposers.rules import RulesProposer
from kernelwright.proposers.rules.proposer import COMPILE_S
from kernelwright.tuner.cost_model import FEWEST_OF_TASK, CostModel, Groups
from kernelwright.tuner.paying import n_kernels, n_payable
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.process import TunerProcess
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.similar import Winners
from kernelwright.tuner.space import Space
from kernelwright.tuner.trials import TrialRunner
from kernelwright.tuner.tuner import AHEAD, BATCH, Tuner

SHARE = 0.5
"""Share of the brief's time for trials; the rest is for verdicts on the best."""
LEAST_S = 4.0
"""Seconds for trials from the first race on, if the budget is as long, however long the capture,
the worker's start and the first compilers take: a search of some seconds would otherwise end with
its first race."""
N_JUDGED = 3
"""Number of candidates that go to the judge in a round at most: half of those that the budget pays
for, since the judge compiles each again."""


class TunedRules:
    """A proposer that tries the rules' candidates first.

    Candidates that cannot be tried, such as those that torch.compile tunes, come after the best. If
    no trial can be made or none succeeds, the rules' proposals come as they are, and the reason is
    returned.
    """

    name = "rules"

    def __init__(
        self,
        judge: Judge,
        process: TunerProcess,
        *,
        known: Sequence[Trial],
        past: Groups,
        on_trials: Callable[[Sequence[Trial]], None],
        tell: Callable[[str], None],
    ) -> None:
        """``known``: trials of earlier searches in this environment; ``past``: those of other tasks
        on this kind of device. ``on_trials`` is called with the new trials of each race, ``tell``
        with the order in which candidates are tried, or the reason why none is."""
        self._tell = tell
        self._judge, self._process = judge, process
        self._known, self._past, self._on_trials = known, past, on_trials
        self._rules = RulesProposer()
        self._tuner: Tuner | None = None
        self._why_not = ""
        self._proposed: set[str] = set()

    def propose(self, brief: Brief) -> Generator[Proposal, None, str | None]:
        """Yield the best candidates by trial, and then those that could not be tried.

        Raises:
            TaskError: the task cannot be opened.
        """
        end = time.monotonic() + brief.budget_s
        timed = self._timed(brief)
        best = self._best(replace(brief, dialects=timed))
        if self._tuner is None or not self._tuner.leaders:
            if self._why_not:
                self._tell(self._why_not)
            reason = yield from self._rules.propose(brief)
            return self._why_not or reason
        for proposal in best:
            self._proposed.add(proposal.candidate.digest)
            yield proposal
        if brief.budget_s >= COMPILE_S:
            yield from self._space.untunable(end)
        if untimed := tuple(name for name in brief.dialects if name not in timed):
            yield from self._rules.propose(replace(brief, dialects=untimed))
        return None

    def get_ready(self, brief: Brief) -> None:
        """Start what trials need, while the library settings compile."""
        with contextlib.suppress(CannotCapture, DeviceError):  # which come again, and are said then
            self._tuner = self._opened(replace(brief, dialects=self._timed(brief)))
            if self._tuner is not None:
                self._tuner.get_ready()
                self._runner.start()

    def _timed(self, brief: Brief) -> tuple[str, ...]:
        return tuple(name for name in brief.dialects if self._is_timed(name))

    def _best(self, brief: Brief) -> list[Proposal]:
        """Try candidates, and return the best of those that were not proposed before."""
        least_s = min(brief.budget_s, LEAST_S)
        until = time.monotonic() + SHARE * brief.budget_s
        try:
            tuner = self._tuner = self._tuner or self._opened(brief)
            if tuner is None:
                return []
            passed = {verdict.candidate for _, verdict in brief.history if verdict.passed}
            for _, verdict in brief.history:
                if not verdict.passed:
                    tuner.drop(verdict.candidate)
            if not self._process.has_question:
                self._give_question()
            with self._runner.at_work():
                tuner.run(until, least_s=least_s)
                best = tuner.finalists(min(N_JUDGED, max(1, tuner.n_ahead // 2)), passed)
            if len(tuner.leaders) >= FEWEST_OF_TASK:
                self._tell(f"the order had {tuner.quality()}")
            if counted := self._queue.counted:
                self._tell(counted)
        except CannotCapture:
            return []  # the rules say why
        except DeviceError as error:
            self._tuner, self._why_not = None, f"no trials: {error.what}: {error.seen}"
            return []
        judged = {verdict.candidate for _, verdict in brief.history}
        return [
            one if one.parent in judged else replace(one, parent=None)  # the archive lacks others
            for one in best
            if one.candidate.digest not in self._proposed
        ]

    def _opened(self, brief: Brief) -> Tuner | None:
        """Start the tuner; None if the task cannot be tried."""
        judge = self._judge
        compiles_elsewhere = judge.machine.backend.compiles_elsewhere
        if compiles_elsewhere:
            judge.start_baselines()
        reason = why_untunable(judge)
        if reason or not self._give_question():
            self._why_not = f"no trials: {reason or 'the reference has no sure answer'}"
            return None
        self._runner = TrialRunner(self._process, judge.device_lock)
        self._queue = BuildQueue(self._process, self._tell)
        self._space = Space(brief, Winners(self._past), self._known)
        return Tuner(
            Pool(self._space, self._model()),
            self._runner,
            self._queue,
            batch_size=BATCH[judge.device.kind],
            builds_ahead=compiles_elsewhere,
            known=self._known,
            on_trials=self._told,
            payable=self._payable,
        )

    def _payable(self, proposal: Proposal) -> int:
        """Return how many candidates like this one the budget pays for; say so if they are few."""
        outline = self._space.outline(proposal)
        n = n_payable(outline, self._judge.settings.budget_s)
        if n < AHEAD:
            kernels = n_kernels(outline)
            self._tell(
                f"{kernels} kernels a candidate: the budget pays for {n} candidates at a time"
            )
        return n

    def _give_question(self) -> bool:
        """Give the process the task's question; False if the task has none."""
        question = question_of(self._judge)
        if question is not None:
            self._process.give(question)
        return question is not None

    def _model(self) -> CostModel:
        """Return the model that orders candidates; say which it is."""
        judge = self._judge
        model = CostModel(machine(judge.device.kind, judge.threads), self._past)
        if model.why_not:
            warnings.warn(model.why_not, RuntimeWarning, stacklevel=2)
        self._tell(f"tries in the order of {model}")
        return model

    def _told(self, trials: Sequence[Trial]) -> None:
        failed = [trial for trial in trials if trial.outcome is not TrialOutcome.MEASURED]
        if failed and not self._why_not:
            self._why_not = f"no trial succeeded: {failed[0].outcome}: {failed[0].detail}"
        self._on_trials(trials)

    def _is_timed(self, name: str) -> bool:
        dialect = plugins.find("kernelwright.dialects", name)
        return bool(dialect.is_timed(self._judge.device))
