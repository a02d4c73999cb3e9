"""Everything besides timing that happens in the rounds: results are checked, stacks are sampled."""

from __future__ import annotations

import functools
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.core.evaluation import CANDIDATE
from kernelwright.core.outcome import Warned
from kernelwright.judge.baselines.library_settings import EAGER
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.kinds.sampling import BUDGET_S, StackSampler
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.calls import Window
from kernelwright.judge.sandbox.outputs import Claim
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.timing.rounds import Untimed
from kernelwright.judge.timing.stopwatch import CallPurpose, Input, Stopwatch
from kernelwright.judge.verify.verification import Verification

SAMPLED = 1 << 40
"""The number of the first inputs of windows that are stopped for samples."""
MOST_SPOILT = 3
"""The windows of which a call is compared whose inputs were overwritten when it had returned."""


class FreshInputs:
    """Inputs of the task's own that no call has had before."""

    def __init__(self, oracle: Oracle, seed: int) -> None:
        self._oracle, self._seed = oracle, seed

    def draw(self, *purpose: Any) -> Draw:
        return Draw(TASK, derive_seed(self._seed, *purpose))

    def __call__(self, *purpose: Any) -> list[Any]:
        return self._oracle.arguments(self.draw(*purpose))


class RoundChecks:
    """The ``RoundObserver`` of one candidate.

    Of every window some results are compared, drawn anew each time. Before some rounds another
    distribution comes again, and with a ``sampler`` some rounds are for stopping the candidate's
    call to see whose code runs.
    """

    def __init__(
        self,
        stopwatch: Stopwatch,
        check: Verification,
        draws: list[Draw],
        fresh: FreshInputs,
        sampler: StackSampler | None = None,
    ) -> None:
        self._stopwatch, self._check, self._draws = stopwatch, check, draws
        self._fresh, self._sampler = fresh, sampler
        self._windows_ns: list[float] = []
        """The times of the candidate's windows."""
        self._rng = random.Random(fresh.draw("spoilt").seed)
        self._n_spoilt = 0
        """The windows of which a call was compared whose inputs were overwritten later."""
        self.claims: list[Claim] = []
        """The places of the outputs of the last timed call."""

    def inputs(self, *purpose: Any) -> list[Any]:
        return self._fresh(*purpose)

    def begin(self) -> None:
        self._check.get_ready(self._draws)

    def untimed_call(self, rng: random.Random) -> Untimed | None:
        if self._check.is_surprised():
            return lambda _: self._check.recheck(self._draws, self._stopwatch.surprise_call)
        if self._sampler is not None and self._sampler.is_due(rng):
            return functools.partial(self._sample, self._sampler)
        return None

    def candidate_called(self, inputs: Mapping[int, Input], window: Window) -> None:
        arguments = {place: one.arguments for place, one in inputs.items()}
        self._check.look_at_window(arguments, window)

    def round_ended(self, inputs: Mapping[int, Input], windows: Mapping[str, Window]) -> None:
        mine, eager = windows[CANDIDATE], windows.get(EAGER)
        self.claims = mine.last.claims
        self._windows_ns.append(mine.elapsed_ns)
        for place, one in inputs.items():
            # Taken out, for float64 needs their memory.
            call, other = mine.calls.pop(place), eager.calls.pop(place, None) if eager else None
            self._check.compare_timed(one.draw, one.arguments, call, other)

    def warn(self, warnings: list[Warned]) -> None:
        self._check.tally.warn(warnings)

    def end(self) -> None:
        self._check.recheck_rest(self._draws, self._stopwatch.surprise_call)
        if self._sampler is not None:
            sample_more(self._stopwatch, self._check.runner, self._sampler, self._windows_ns)
        self._check.finish()

    def _sample(self, sampler: StackSampler, arguments: list[Any]) -> None:
        stopwatch, runner = self._stopwatch, self._check.runner
        window, inputs, spoilt = sample(stopwatch, runner, sampler, self._windows_ns)
        if spoilt and self._n_spoilt < MOST_SPOILT:
            self._n_spoilt += 1
            number = self._rng.choice(spoilt)
            call = stopwatch.windows_of(runner).read(window, number)
            self._check.compare_timed(inputs[number].draw, inputs[number].arguments, call, None)
        stopwatch.rest(runner)


def sample(
    stopwatch: Stopwatch, runner: Runner, sampler: StackSampler, windows_ns: Sequence[float]
) -> tuple[Window, Sequence[Input], Sequence[int]]:
    """A window like a timed one that is stopped for samples; ``windows_ns``: the times of others.

    Its inputs are as new as theirs. At each stop those of the calls that have returned are
    overwritten: calls that are put off until later find none. Returns the window, which is not at
    rest, its inputs, and the numbers of those calls.
    """
    times = sampler.sample_times(statistics.median(windows_ns) if windows_ns else 0)
    n, windows = stopwatch.n_calls(runner), stopwatch.windows_of(runner)
    first, spoilt = SAMPLED + sampler.n_calls * n, set[int]()

    def look(pid: int) -> None:
        times.sample(pid)
        if windows.are_open:
            spoilt.update(windows.spoil_returned(range(n)))

    inputs = [stopwatch.inputs_of(first + place) for place in range(n)]
    purpose = CallPurpose(samples=replace(times, sample=look))
    window = stopwatch.window(runner, dict(enumerate(inputs)), (), purpose)
    return window, inputs, sorted(spoilt)


def sample_more(
    stopwatch: Stopwatch, runner: Runner, sampler: StackSampler, windows_ns: Sequence[float]
) -> None:
    """More of those, where the rounds gave too few samples."""
    end_s = time.monotonic() + BUDGET_S
    while not sampler.is_enough and sampler.is_possible and time.monotonic() < end_s:
        sample(stopwatch, runner, sampler, windows_ns)
        stopwatch.rest(runner)
