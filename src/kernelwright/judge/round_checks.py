"""Everything besides timing that happens in the rounds: results are checked, stacks are sampled."""

from __future__ import annotations

import functools
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from kernelwright.core.evaluation import CANDIDATE
from kernelwright.core.outcome import Warned
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.kinds.sampling import BUDGET_S, StackSampler
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.outputs import Claim
from kernelwright.judge.sandbox.runner import Call, Runner
from kernelwright.judge.timing.rounds import Untimed
from kernelwright.judge.timing.stopwatch import CallPurpose, Stopwatch
from kernelwright.judge.verify.verification import Verification


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

    Every result is compared. Before some rounds another distribution comes again, and with a
    ``sampler`` some rounds are for stopping the candidate's call to see whose code runs.
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
        self._samples_ns: list[int] = []
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

    def candidate_called(self, arguments: list[Any], call: Call) -> None:
        self._check.look(arguments, call)

    def round_ended(self, number: int, arguments: list[Any], calls: dict[str, Call]) -> None:
        self.claims = calls[CANDIDATE].claims
        self._samples_ns.append(calls[CANDIDATE].elapsed_ns)
        self._check.compare_timed(self._fresh.draw("round", number), arguments, calls)

    def warn(self, warnings: list[Warned]) -> None:
        self._check.tally.warn(warnings)

    def end(self, samples_ns: Sequence[int]) -> None:
        self._check.recheck_rest(self._draws, self._stopwatch.surprise_call)
        if self._sampler is not None:
            runner = self._check.runner
            sample_more(self._stopwatch, runner, self._fresh, self._sampler, samples_ns)
        self._check.finish()

    def _sample(self, sampler: StackSampler, arguments: list[Any]) -> None:
        sample(self._stopwatch, self._check.runner, arguments, sampler, self._samples_ns)


def sample(
    stopwatch: Stopwatch,
    runner: Runner,
    arguments: list[Any],
    sampler: StackSampler,
    samples_ns: Sequence[int],
) -> None:
    """A call like a timed one that is stopped for samples; ``samples_ns``: the candidate's
    times."""
    usual_ns = statistics.median(samples_ns) if samples_ns else 0
    times = sampler.sample_times(usual_ns + stopwatch.overhead_ns)
    stopwatch.call(runner, arguments, CallPurpose(samples=times))
    stopwatch.rest(runner)


def sample_more(
    stopwatch: Stopwatch,
    runner: Runner,
    fresh: Callable[..., list[Any]],
    sampler: StackSampler,
    samples_ns: Sequence[int],
) -> None:
    """More of those, where the rounds gave too few samples."""
    end_s, number = time.monotonic() + BUDGET_S, 0
    while not sampler.is_enough and sampler.is_possible and time.monotonic() < end_s:
        sample(stopwatch, runner, fresh("late look", number), sampler, samples_ns)
        number += 1
