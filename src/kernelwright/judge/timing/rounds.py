"""Timing: rounds in which every series runs once on the same fresh inputs, in random order."""

from __future__ import annotations

import contextlib
import functools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.core.evaluation import CANDIDATE, Ratio, Timing, median_ratio
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.baselines import compared
from kernelwright.judge.checks import TASK, Draw, derive_seed
from kernelwright.judge.children.child import Glance
from kernelwright.judge.children.runner import Call, Runner
from kernelwright.judge.isolation.processes import faulted_bytes
from kernelwright.judge.kinds.sampling import BUDGET_S, Looks
from kernelwright.judge.machine.cores import gathered, lead, on_last_core, prioritise
from kernelwright.judge.machine.flush import CacheFlush
from kernelwright.judge.machine.outputs import Claim
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.roofline import least_ns, peak_bytes_per_s, surely_ns
from kernelwright.judge.refusal import Refused
from kernelwright.judge.timing.series import Series
from kernelwright.judge.timing.vigil import Vigil
from kernelwright.judge.verify.verification import WATCHED, Verification

MIN_ROUNDS = 7
MAX_ROUNDS = 80
TIGHT = 0.02
"""Half the interval over the median at which more rounds are not worth their time."""
HOPELESS = 0.85
"""A candidate whose whole interval is below this is not measured more closely."""
HOPELESS_ROUNDS = 6  # the fewest that give an interval of 95 %
LOOKS = (HOPELESS_ROUNDS, MIN_ROUNDS, 10, 14, 20, 28, 40, 56)
"""The rounds after which the interval is looked at. To stop at the first of all rounds that shows
a narrow one would take the lucky ones: intervals of 95 % would hold the truth in 92 % of runs at
3.5 % noise, and do in 94 % (``benchmarks/judge_intervals.py``)."""
N_CALIBRATION = 20
AT_REST, MOST_SETTLING, SETTLING_S = 4, 20, 2.0
"""Calls in a row that take little new memory, calls at most, and after how long no more."""
LITTLE_MEMORY = 1 << 20


class RunnerFailed(Exception):
    """One of several modules cannot be measured: its name and why."""

    def __init__(self, name: str, refused: Refused) -> None:
        self.name = name
        self.refused = refused
        super().__init__(f"{name}: {refused}")


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """What fails within is the module of this name: the candidate's verdict, or no fault of it.

    Raises:
        RunnerFailed: another module than the candidate was refused.
    """
    try:
        yield
    except Refused as refused:
        if name == CANDIDATE:
            raise
        raise RunnerFailed(name, refused) from None


def is_enough(ratios: list[float], spent_s: float, budget_s: float) -> bool:
    """Whether more rounds are not worth their time."""
    n = len(ratios)
    if n >= MAX_ROUNDS or (n >= MIN_ROUNDS and spent_s > budget_s):
        return True
    if n not in LOOKS:
        return False
    interval = median_ratio(ratios)
    if interval.high < HOPELESS:
        return True
    return n >= MIN_ROUNDS and half_width(interval) < TIGHT


def half_width(interval: Ratio) -> float:
    return (interval.high - interval.low) / 2 / interval.median


def _draw(arguments_of: Callable[[Draw], list[Any]], seed: int, *what: Any) -> list[Any]:
    """Inputs of the task's own that no call has had before."""
    return arguments_of(Draw(TASK, derive_seed(seed, *what)))


class Stopwatch:
    """Times modules that run in their own children, one at a time, all others standing still."""

    def __init__(self, place: Place, *, cache: str, limit_s: float) -> None:
        self.cache = cache
        self.limit_s = limit_s
        self._place = place
        self._peak_bytes_per_s: float | None = None
        self.overhead_ns = 0
        """What an empty call costs; taken off every time."""
        self._ranked_ns: dict[str, float] = {}
        """The median time of each setting, when they were ranked."""
        self._flush = CacheFlush(place) if cache == "cold" else None

    def prioritise(self, runner: Runner) -> None:
        """Let a child run before other programs, if the judge itself can run before the child.

        Otherwise a child that says too early that it is done could keep the judge from looking.
        """
        if not self._place.is_spinning and lead(True):
            lead(False)
            prioritise(runner.child.pid)

    def gathered(self, runners: Iterable[Runner]) -> contextlib.AbstractContextManager[None]:
        """While it is entered, these children are timed on equal terms: where the judge polls, all
        on one core. For who is alone at the device."""
        if not self._place.is_spinning:
            return contextlib.nullcontext()
        return gathered([runner.child.pid for runner in runners])

    def turn(
        self,
        runner: Runner,
        arguments: list[Any],
        *,
        take: bool = False,
        glance: Glance | None = None,
        vigil: Vigil | None = None,
        in_ambush: bool = False,
    ) -> Call:
        """One timed call, from standstill to standstill, with ``vigil`` watched before it; or one
        ``in_ambush``, whose time says little.

        Units:
            Nanoseconds of the judge's clock, less the cost of an empty call.
        """
        with contextlib.nullcontext() if self._place.is_spinning else on_last_core():
            put = functools.partial(runner.put, arguments)
            put() if vigil is None else vigil.watch(put)
            self._place.make_room()
            if self._flush is not None:
                self._flush()
            how = {"take": take, "glance": glance, "in_ambush": in_ambush}
            call = runner.call(limit_s=self.limit_s, **how)
        return replace(call, elapsed_ns=self._net_ns(call.elapsed_ns))

    def _surprise(self, runner: Runner, arguments: list[Any], *, take: bool = False) -> Call:
        """A call whose result alone counts."""
        return self.turn(runner, arguments, take=take, in_ambush=self._place.kind != "cpu")

    def rank(
        self, runners: Mapping[str, Runner], arguments: list[Any], n_rounds: int
    ) -> dict[str, float]:
        """The median time of each, over a few rounds in random order after one not counted.

        Units:
            Nanoseconds of the judge's clock.
        Raises:
            RunnerFailed: one of them cannot be measured; says which.
        """
        samples: dict[str, list[int]] = {name: [] for name in runners}
        for runner in runners.values():
            self.prioritise(runner)
        with self.gathered(runners.values()):
            for _ in range(n_rounds + 1):
                for name in random.sample(list(runners), len(runners)):
                    with named(name):
                        samples[name].append(self.turn(runners[name], arguments).elapsed_ns)
                        self.rest(runners[name])
        found = {name: statistics.median(values[1:]) for name, values in samples.items()}
        self._ranked_ns |= found
        return found

    def calibrate(self, runner: Runner, arguments: list[Any]) -> None:
        """Set ``overhead_ns`` from a module that uses the device once and twice in turns.

        Between the judge's work and a child's a GPU changes its context, which takes 140 µs on an
        H200 and is no call's own: one use costs the change and the use, the second only a use.
        """
        self.prioritise(runner)
        samples = []
        with self.gathered([runner]):
            for _ in range(N_CALIBRATION):
                samples.append(self.turn(runner, arguments).elapsed_ns)
                self.rest(runner)
        # The least seen: what is taken off must not exceed what every call costs.
        once_ns, twice_ns = min(samples[::2]), min(samples[1::2])
        self.overhead_ns = min(once_ns, 2 * once_ns - twice_ns)

    def settle_in(self, runner: Runner, arguments: list[Any]) -> None:
        """Call a module whose last result is held, as in rounds, until its memory is at rest.

        Where two results of 25 MB live at a time, glibc's heap takes new pages in some seven calls
        and seldom after them: 6 ms instead of 1.4 in the first rounds of a layer norm.
        """
        end_s = time.monotonic() + SETTLING_S
        taken, quiet = faulted_bytes(runner.child.pid), 0
        for _ in range(MOST_SETTLING):
            self.turn(runner, arguments)
            runner.release(hold=[WATCHED])
            runner.stand_still()
            before, taken = taken, faulted_bytes(runner.child.pid)
            quiet = quiet + 1 if taken - before < LITTLE_MEMORY else 0
            if quiet == AT_REST or time.monotonic() > end_s:
                return

    def _net_ns(self, elapsed_ns: int) -> int:
        """Without the cost of an empty call; half of it at least, however short it was."""
        return max(elapsed_ns - self.overhead_ns, elapsed_ns // 2, 1)

    def _refuse_impossible(self, claims: list[Claim], runner: Runner, timing: Timing) -> None:
        """Refuse times in which the outputs cannot have been written."""
        if self._peak_bytes_per_s is None:
            self._peak_bytes_per_s = peak_bytes_per_s(self._place)
        least = surely_ns(
            least_ns(claims, runner.like, self._peak_bytes_per_s),
            timing.median_ns(timing.strongest),
        )
        seen = timing.median_ns(CANDIDATE)
        if least > self.overhead_ns and seen < least:
            raise Refused(
                ReasonCode.TOO_FAST_TO_WRITE,
                f"impossible: {seen / 1e3:.1f} µs for outputs that take {least / 1e3:.1f} µs to "
                "write at this device's highest rate",
            )

    def rest(self, runner: Runner) -> None:
        """Let a child drop its output, in its next call where it is light; it stands still."""
        runner.release()
        runner.stand_still()

    def look(
        self, runner: Runner, arguments: list[Any], looks: Looks, samples_ns: Sequence[int]
    ) -> None:
        """A call like a timed one, to see whose code runs."""
        usual_ns = statistics.median(samples_ns) if samples_ns else 0
        self.turn(runner, arguments, glance=looks.glance(usual_ns + self.overhead_ns))
        self.rest(runner)

    def _watch(self, runner: Runner, arguments: list[Any], vigil: Vigil) -> None:
        """A call like a timed one, before which the device is looked at."""
        runner.stand_still()
        self.turn(runner, arguments, vigil=vigil)
        self.rest(runner)

    def _watch_on(
        self, runner: Runner, fresh: Callable[..., list[Any]], vigil: Vigil, check: Verification
    ) -> None:
        """More of those, where something was seen and says too little; and what is to be said."""
        while vigil.is_open():
            self._watch(runner, fresh("watched", vigil.n_watched), vigil)
        check.tally.warn(vigil.warnings())

    def look_on(
        self,
        runner: Runner,
        arguments_of: Callable[[Draw], list[Any]],
        seed: int,
        looks: Looks,
        samples_ns: Sequence[int],
    ) -> None:
        """More of those, where too little was seen in the rounds."""
        fresh = functools.partial(_draw, arguments_of, seed)
        end_s, number = time.monotonic() + BUDGET_S, 0
        while not looks.is_enough and looks.is_possible and time.monotonic() < end_s:
            self.look(runner, fresh("late look", number), looks, samples_ns)
            number += 1

    def compare(
        self,
        candidate: Runner,
        baselines: Mapping[str, Runner],
        *,
        strongest: str,
        arguments_of: Callable[[Draw], list[Any]],
        check: Verification,
        draws: list[Draw],
        seed: int,
        budget_s: float,
        looks: Looks | None = None,
    ) -> Timing:
        """Rounds until the speedup over the strongest baseline is known well enough.

        With ``looks`` some rounds are for looking at the candidate's call. Every module is called
        once in every round, timed or not: one that was called just now finds its caches warm, and
        calls of a tenth of a millisecond were 1.15 times as fast where the candidate alone had
        calls between the rounds. None of its calls gets inputs that it has had before.

        Source:
            Pairing within rounds and random order: STABILIZER (Curtsinger & Berger 2013).
        """
        runners = {CANDIDATE: candidate, **baselines}
        beside = compared(baselines, strongest)
        series = Series({name: [] for name in runners}, beside)
        samples = series.samples_ns
        order = random.Random(derive_seed(seed, "order"))
        start_s = time.monotonic()
        ratios: list[float] = []

        fresh = functools.partial(_draw, arguments_of, seed)
        vigil = Vigil(self._place, derive_seed(seed, "vigil"), MIN_ROUNDS)
        self._warm_up(runners, fresh("warm"))
        check.get_ready(draws)

        while not is_enough(ratios, time.monotonic() - start_s, budget_s):
            turns = order.sample(list(runners), len(runners))
            apart = self._apart(candidate, vigil, check, draws, looks, samples[CANDIDATE], order)
            if apart is not None:
                arguments = fresh("apart", order.getrandbits(62))
                start_s += self._round_apart(runners, turns, arguments, apart)
                continue
            draw = Draw(TASK, derive_seed(seed, "round", len(ratios)))
            arguments = arguments_of(draw)
            calls = self._round(runners, turns, arguments=arguments, beside=beside, check=check)
            series.add(calls)
            claims = calls[CANDIDATE].claims
            check.compare_timed(draw, arguments, calls)
            del arguments, calls  # the next round's need their memory
            ratios.append(samples[strongest][-1] / samples[CANDIDATE][-1])
        self._watch_on(candidate, fresh, vigil, check)
        check.recheck_rest(draws, self._surprise)
        if looks is not None:
            self.look_on(candidate, arguments_of, seed, looks, samples[CANDIDATE])
        check.finish()
        timing = series.timing(self.cache)
        vigil.require_rest(timing.median_ns(strongest), self._ranked_ns.get(strongest, math.inf))
        self._refuse_impossible(claims, candidate, timing)
        return timing

    def _apart(
        self,
        candidate: Runner,
        vigil: Vigil,
        check: Verification,
        draws: list[Draw],
        looks: Looks | None,
        samples_ns: list[int],
        order: random.Random,
    ) -> Callable[[list[Any]], object] | None:
        """What a round is for, given its inputs, in which nothing is timed; None if none is due."""
        if vigil.is_due():
            return functools.partial(self._watch, candidate, vigil=vigil)
        if check.is_surprised():
            return lambda arguments: check.recheck(draws, self._surprise)
        if looks is not None and looks.is_due(order):
            return functools.partial(self.look, candidate, looks=looks, samples_ns=samples_ns)
        return None

    def _round(
        self,
        runners: Mapping[str, Runner],
        turns: Sequence[str],
        *,
        arguments: list[Any],
        beside: str,
        check: Verification,
    ) -> dict[str, Call]:
        """One timed call of each on the same inputs, in this order."""
        calls = {}
        for name in turns:
            take = name in (CANDIDATE, beside)
            with named(name):
                calls[name] = self.turn(runners[name], arguments, take=take)
                if name == CANDIDATE:
                    check.look(arguments, calls[name])
                else:
                    runners[name].release(hold=[WATCHED] if take else [])
                runners[name].stand_still()
        return calls

    def _round_apart(
        self,
        runners: Mapping[str, Runner],
        turns: Sequence[str],
        arguments: list[Any],
        act: Callable[[list[Any]], object],
    ) -> float:
        """A round in which ``act`` calls the candidate and nothing is timed; its seconds."""
        start_s = time.monotonic()
        for name in turns:
            with named(name):
                if name == CANDIDATE:
                    act(arguments)
                else:
                    self.turn(runners[name], arguments)
                    self.rest(runners[name])
        return time.monotonic() - start_s

    def _warm_up(self, runners: Mapping[str, Runner], arguments: list[Any]) -> None:
        """The first call after other work is slow: caches, clocks, page tables."""
        for name, runner in runners.items():
            with named(name):
                self.turn(runner, arguments)
                self.rest(runner)
