"""Rounds: each module has one window of calls on the same fresh inputs, in random order.

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
from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.sandbox.calls import Window
from kernelwright.judge.sandbox.ring import N_COPIED
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.sandbox.windows import Windows
from kernelwright.judge.timing.background_work import BackgroundWorkDetector
from kernelwright.judge.timing.series import Series
from kernelwright.judge.timing.stopping_rule import MIN_ROUNDS, is_enough
from kernelwright.judge.timing.stopwatch import (
    HELD,
    CallPurpose,
    Input,
    Stopwatch,
    named,
)

LATENCY_ROUNDS = 3
"""Rounds of single calls that are waited for."""
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

    def candidate_called(self, inputs: Mapping[int, Input], window: Window) -> None:
        """A window of the candidate's was timed, which stands still; its last output is to be
        released or held. ``inputs``: those of the calls whose outputs were taken, by place."""

    def round_ended(self, inputs: Mapping[int, Input], windows: Mapping[str, Window]) -> None:
        """All modules were timed. ``inputs``: as for ``candidate_called``."""

    def warn(self, warnings: list[Warned]) -> None:
        """Warnings for the verdict."""

    def end(self) -> None:
        """The last round is over."""


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

    Every module has its turn in every round, timed or not: one that was called just now finds its
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
        self._n_used = max(1, stopwatch.most_calls)
        """The number of the first inputs that the candidate has not had."""
        self.ratios: list[float] = []

    def warm_up(self) -> None:
        """Find out how many calls a window of each has; the modules are warm then. Where windows
        have several calls, some single ones are timed as well."""
        for name, runner in self._contest.runners.items():
            with named(name):
                if self._stopwatch.n_calls(runner) == 1:
                    self._stopwatch.call(runner, self._observer.inputs("warm"))
                    self._stopwatch.rest(runner)
        # The library says whether what starting kernels costs is in the times: a candidate that
        # waits for the device would else have that added to the library's.
        are_queued = self._windows(self._contest.strongest).may_queue
        self._stopwatch.queue_calls(self._contest.runners.values(), are_queued)
        self._stopwatch.even(self._contest.runners)
        self._series.is_queued = are_queued
        if are_queued and not self._windows(CANDIDATE).may_queue:
            said = "its calls wait for the device: unlike the library's they cannot be queued"
            self._observer.warn([Warned(WarningCode.WAITS_FOR_DEVICE, said)])
        if any(self._windows(name).are_open for name in self._contest.runners):
            for number in range(LATENCY_ROUNDS + 1):
                self._latency_round(self._observer.inputs("waited for", number), number)

    def one(self) -> float:
        """One round; the seconds of it that do not count as time for measuring."""
        runners = self._contest.runners
        order = self._rng.sample(list(runners), len(runners))
        untimed = self._watch if self._detector.is_due() else self._observer.untimed_call(self._rng)
        if untimed is not None:
            return self._untimed_round(order, untimed)
        inputs = self._next_inputs(max(self._windows(name).n_calls for name in runners))
        taken, windows = self._timed_round(order, inputs)
        self._series.add(windows)
        # The observer may take calls out: float64 and the next round's inputs need their memory.
        self._observer.round_ended(taken, windows)
        samples = self._series.samples_ns
        self.ratios.append(samples[self._contest.strongest][-1] / samples[CANDIDATE][-1])
        return 0.0

    def end(self) -> Timing:
        """The times, when all that was left to look at has been."""
        while self._detector.is_open():
            self._watch(self._observer.inputs("watched", self._detector.n_watched))
        self._observer.warn(self._detector.warnings())
        self._observer.end()
        timing = self._series.timing(self._stopwatch.cache, self._stopwatch.floor_ns)
        strongest = self._contest.strongest
        usual_ns = self._stopwatch.ranked_ns.get(strongest, math.inf)
        self._detector.require_rest(timing.median_ns(strongest), usual_ns)
        return timing

    def _timed_round(
        self, order: Sequence[str], inputs: Sequence[Input]
    ) -> tuple[dict[int, Input], dict[str, Window]]:
        """One window of each module, in this order; also the inputs of the calls whose outputs were
        taken, by place.

        These calls are next to each other in memory, where the judge overwrites their inputs when
        the calls are done; in time they are anywhere, and other calls lie between them.
        """
        compared, runners = (CANDIDATE, self._contest.compared), self._contest.runners
        n_taken = min(N_COPIED, *(self._windows(name).n_calls for name in compared))
        start = self._rng.randrange(len(inputs) - n_taken + 1)
        places = range(start, start + n_taken)
        taken = {place: inputs[place] for place in places}
        windows = {}
        for name in order:
            runner, take = runners[name], name in compared
            given = self._order(len(inputs), self._windows(name).n_calls, places)
            with named(name):
                windows[name] = self._stopwatch.window(
                    runner, {place: inputs[place] for place in given}, places if take else ()
                )
                if name == CANDIDATE:
                    self._observer.candidate_called(taken, windows[name])
                else:
                    runner.release(hold=[HELD] if take else [])
                runner.stand_still()
        return taken, windows

    def _order(self, n_inputs: int, n_calls: int, places: Sequence[int]) -> list[int]:
        """A random order of so many of the inputs, those at ``places`` first; one of these ends
        it."""
        chosen = self._rng.sample(places, min(len(places), n_calls))
        others = [place for place in range(n_inputs) if place not in places]
        before = [*chosen[1:], *self._rng.sample(others, n_calls - len(chosen))]
        self._rng.shuffle(before)
        return [*before, chosen[0]]

    def _latency_round(self, arguments: list[Any], number: int) -> None:
        """One single call of each on the same inputs; the first round is not counted."""
        runners = self._contest.runners
        for name in self._rng.sample(list(runners), len(runners)):
            with named(name):
                call = self._stopwatch.call(runners[name], arguments)
                self._stopwatch.rest(runners[name])
            if number:
                self._series.latency_ns.setdefault(name, []).append(call.elapsed_ns)

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
        """Calls like timed ones, before which the device is watched for background work."""
        candidate, purpose = self._contest.candidate, CallPurpose(detector=self._detector)
        candidate.stand_still()
        if not self._windows(CANDIDATE).are_open:
            self._stopwatch.call(candidate, arguments, purpose)
        else:
            inputs = self._next_inputs(self._windows(CANDIDATE).n_calls)
            self._stopwatch.window(candidate, dict(enumerate(inputs)), (), purpose)
        self._stopwatch.rest(candidate)

    def _windows(self, name: str) -> Windows:
        return self._stopwatch.windows_of(self._contest.runners[name])

    def _next_inputs(self, n: int) -> list[Input]:
        """So many inputs that the candidate has not had."""
        first, self._n_used = self._n_used, self._n_used + n
        return [self._stopwatch.inputs_of(number) for number in range(first, first + n)]
