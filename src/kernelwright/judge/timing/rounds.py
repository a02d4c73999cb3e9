"""Rounds: each module is called once on the same fresh inputs, in random order.

Timing checks nothing itself: a ``RoundObserver`` gets every call and may use rounds of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.core.evaluation import CANDIDATE, Timing
from kernelwright.core.outcome import Warned
from kernelwright.judge.sandbox.runner import Call, Runner
from kernelwright.judge.timing.background_work import BackgroundWorkDetector
from kernelwright.judge.timing.series import Series
from kernelwright.judge.timing.stopping_rule import MIN_ROUNDS, is_enough
from kernelwright.judge.timing.stopwatch import HELD, CallPurpose, Stopwatch, named

Untimed = Callable[[list[Any]], object]
"""An untimed call of the candidate, given a round's inputs."""


class RoundObserver(Protocol):
    """The part of the judge that looks on while a candidate is timed."""

    def inputs(self, *purpose: Any) -> list[Any]:
        """Inputs of the task's own that no call has had before."""

    def begin(self) -> None:
        """The modules are warm; the rounds begin."""

    def untimed_call(self, rng: random.Random) -> Untimed | None:
        """A call that the coming round is to be for; None for a timed round."""

    def candidate_called(self, arguments: list[Any], call: Call) -> None:
        """The candidate was timed and stands still; its output is to be released or held."""

    def round_ended(self, number: int, arguments: list[Any], calls: dict[str, Call]) -> None:
        """All modules were timed on the inputs of ``("round", number)``."""

    def warn(self, warnings: list[Warned]) -> None:
        """Warnings for the verdict."""

    def end(self, samples_ns: Sequence[int]) -> None:
        """The last round is over; the candidate's times."""


@dataclass(frozen=True)
class Contest:
    """The modules that are timed side by side, each in its own child."""

    candidate: Runner
    baselines: Mapping[str, Runner]
    strongest: str
    """The baseline that the speedup is measured against while rounds go on."""
    compared: str
    """The baseline whose outputs are taken as the candidate's are."""

    @property
    def runners(self) -> dict[str, Runner]:
        return {CANDIDATE: self.candidate, **self.baselines}


def compare(
    stopwatch: Stopwatch, contest: Contest, observer: RoundObserver, *, seed: int, budget_s: float
) -> Timing:
    """Rounds until the speedup over the strongest baseline is known well enough.

    Every module is called once in every round, timed or not: one that was called just now finds its
    caches warm, and calls of a tenth of a millisecond were 1.15 times as fast where the candidate
    alone had calls between the rounds. None of its calls gets inputs that it has had before.

    Units:
        ``budget_s`` bounds the rounds, in seconds; untimed ones and what comes before the first
        one do not count.
    Raises:
        Refused: the candidate's verdict.
        RunnerFailed: a baseline cannot be measured.
        Disturbed: the device works for other programs.
    Source:
        Pairing within rounds and random order: STABILIZER (Curtsinger & Berger 2013).
    """
    rounds = _Rounds(stopwatch, contest, observer, seed)
    rounds.warm_up()
    observer.begin()
    start_s = time.monotonic()
    while not is_enough(rounds.ratios, time.monotonic() - start_s, budget_s):
        start_s += rounds.one()
    return rounds.end()


class _Rounds:
    """The rounds of one candidate."""

    def __init__(
        self, stopwatch: Stopwatch, contest: Contest, observer: RoundObserver, seed: int
    ) -> None:
        self._stopwatch, self._contest, self._observer = stopwatch, contest, observer
        self._series = Series({name: [] for name in contest.runners}, contest.compared)
        self._rng = random.Random(f"order {seed}")
        rng = random.Random(f"background work {seed}")
        self._detector = BackgroundWorkDetector(stopwatch.backend, rng, MIN_ROUNDS)
        self.ratios: list[float] = []

    def warm_up(self) -> None:
        """One call of each. The first call after other work is slow: caches, clocks, page
        tables."""
        arguments = self._observer.inputs("warm")
        for name, runner in self._contest.runners.items():
            with named(name):
                self._stopwatch.call(runner, arguments)
                self._stopwatch.rest(runner)

    def one(self) -> float:
        """One round; the seconds of it that do not count as time for measuring."""
        runners = self._contest.runners
        order = self._rng.sample(list(runners), len(runners))
        untimed = self._watch if self._detector.is_due() else self._observer.untimed_call(self._rng)
        if untimed is not None:
            return self._untimed_round(order, untimed)
        number = len(self.ratios)
        arguments = self._observer.inputs("round", number)
        calls = self._timed_round(order, arguments)
        self._series.add(calls)
        # The observer may take calls out: float64 and the next round's inputs need their memory.
        self._observer.round_ended(number, arguments, calls)
        samples = self._series.samples_ns
        self.ratios.append(samples[self._contest.strongest][-1] / samples[CANDIDATE][-1])
        return 0.0

    def end(self) -> Timing:
        """The times, when all that was left to look at has been."""
        while self._detector.is_open():
            self._watch(self._observer.inputs("watched", self._detector.n_watched))
        self._observer.warn(self._detector.warnings())
        self._observer.end(self._series.samples_ns[CANDIDATE])
        timing, strongest = self._series.timing(self._stopwatch.cache), self._contest.strongest
        usual_ns = self._stopwatch.ranked_ns.get(strongest, math.inf)
        self._detector.require_rest(timing.median_ns(strongest), usual_ns)
        return timing

    def _timed_round(self, order: Sequence[str], arguments: list[Any]) -> dict[str, Call]:
        """One timed call of each on the same inputs, in this order."""
        calls = {}
        for name in order:
            runner, take = self._contest.runners[name], name in (CANDIDATE, self._contest.compared)
            with named(name):
                calls[name] = self._stopwatch.call(runner, arguments, CallPurpose(take=take))
                if name == CANDIDATE:
                    self._observer.candidate_called(arguments, calls[name])
                else:
                    runner.release(hold=[HELD] if take else [])
                runner.stand_still()
        return calls

    def _untimed_round(self, order: Sequence[str], untimed: Untimed) -> float:
        """A round in which the candidate's call is ``untimed``; the seconds that it took."""
        arguments = self._observer.inputs("apart", self._rng.getrandbits(62))
        start_s = time.monotonic()
        for name in order:
            with named(name):
                if name == CANDIDATE:
                    untimed(arguments)
                else:
                    self._stopwatch.call(self._contest.runners[name], arguments)
                    self._stopwatch.rest(self._contest.runners[name])
        return time.monotonic() - start_s

    def _watch(self, arguments: list[Any]) -> None:
        """A call like a timed one, before which the device is watched for background work."""
        candidate = self._contest.candidate
        candidate.stand_still()
        self._stopwatch.call(candidate, arguments, CallPurpose(detector=self._detector))
        self._stopwatch.rest(candidate)
