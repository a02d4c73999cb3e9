"""The examination of one built candidate: its results checked, its calls timed, its kind found."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import torch

from kernelwright.core.evaluation import CANDIDATE, Timing
from kernelwright.core.settings import Settings
from kernelwright.judge.baseline_runs import BaselineRuns
from kernelwright.judge.children.children import Children
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.children.turns import Turns
from kernelwright.judge.draft import Draft
from kernelwright.judge.kinds import kinds, profiling
from kernelwright.judge.kinds.sampling import Looks
from kernelwright.judge.machine.conditions import Watch, complaints
from kernelwright.judge.machine.layout import leaves
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.roofline import DOES_LESS, Arithmetic
from kernelwright.judge.perturb.distributions import (
    BELOW,
    CLUSTERED,
    COLLIDING,
    CONDITIONED,
    DISTRIBUTIONS,
    EMPTY,
    FAR,
    LARGE,
    MATCHED,
    MATCHED_SHARES,
    NUMBERS,
    OVERFLOWING,
    RESAMPLED,
    SKEWED,
    SPECIAL,
    can_cluster,
    can_match,
    has_numbers,
    n_drawn,
)
from kernelwright.judge.perturb.draws import TASK, Draw, derive_seed
from kernelwright.judge.perturb.extremes import MOST_HUGE, OUTLIERS
from kernelwright.judge.perturb.integers import can_skew
from kernelwright.judge.preparation import Preparation, Sight
from kernelwright.judge.reference.causes import with_cause
from kernelwright.judge.reference.check import Check
from kernelwright.judge.reference.convolutions import may_be_rounded
from kernelwright.judge.reference.nudges import are_narrow
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.timing.reading import Reading
from kernelwright.judge.timing.rounds import RunnerFailed, Stopwatch
from kernelwright.judge.timing.vigil import Disturbed

CALL_LIMIT_S = 10.0
SLOWEST = 50.0
"""A call may take this many times the reference's time, and CALL_LIMIT_S at least."""
ORACLE_BUDGET_S = 10.0
"""Of the reference's own runs, once per task; then the remaining distributions are left out."""
FEWEST_DRAWS = 8
MOST_DISTURBED, DISTURBED_S = 2, 1.0
"""How often a candidate is timed again, and how long after."""
MOST_COLLIDING = 4
"""Arguments whose integers are made equal to others, one after the other."""
MOST_STARTING = 2
"""Profilers that start side by side: two seconds each on an H200, where the next candidate is
checked and timed in one."""


class Examiner:
    """Examines candidates for one task, one after the other, all with the same distributions."""

    def __init__(
        self,
        oracle: Oracle,
        baselines: BaselineRuns,
        *,
        place: Place,
        children: Children,
        stopwatch: Stopwatch,
        turns: Turns,
        settings: Settings,
    ) -> None:
        self._oracle, self._baselines = oracle, baselines
        self._place, self._children = place, children
        self._stopwatch, self._turns, self._settings = stopwatch, turns, settings
        names = [name for name in oracle.modules if name != TASK] if oracle.has_weights else []
        names += [RESAMPLED] if oracle.has_integers else []
        names += [SKEWED] if any(map(can_skew, leaves(oracle.first_arguments))) else []
        names += [COLLIDING] if oracle.n_collisions else []
        names += [CLUSTERED] if can_cluster(oracle.first_arguments) else []
        names += [CONDITIONED] if oracle.factorises else []
        names += [MATCHED] if can_match(oracle.first_arguments) else []
        names += [NUMBERS] if has_numbers(oracle.first_arguments) else []
        n_turns = {OUTLIERS: min(n_drawn(oracle.first_arguments), MOST_HUGE)}
        n_turns[COLLIDING] = min(oracle.n_collisions, MOST_COLLIDING)
        n_turns[RESAMPLED] = 2  # few of a mask's numbers are turned, and many
        n_turns[MATCHED] = len(MATCHED_SHARES)
        self._draws = [
            Draw(name, derive_seed(oracle.secret, name, 0) + turn, turn)
            for name in (*names, *DISTRIBUTIONS, OVERFLOWING, SPECIAL)
            if _says_something(name, oracle)
            for turn in range(n_turns.get(name, 1))
        ]
        self._left_out: list[str] = []
        is_reduced = bool(oracle.precision)
        self._arithmetic = Arithmetic(place, oracle.flops, oracle.example, is_reduced=is_reduced)
        self._reading = Reading(oracle, place)
        self._profilers = ThreadPoolExecutor(MOST_STARTING, "profiler")

    def examine(self, prepared: Preparation, max_time_s: float, *, is_first: bool) -> None:
        """Check a built candidate's results, and time it; ``identify`` is to follow.

        ``is_first``: nobody finds out of what kind a loser is, and on a CPU it is seen after the
        rounds of what kind a winner is, not among them: they are measured again.

        Raises:
            Refused: the verdict, where it does not pass.
            DeviceError: a library setting failed; ``excuse`` is to follow if it is not to blame.
        """
        verdict, runner = prepared.verdict, prepared.runner
        self._stopwatch.prioritise(runner)
        check = Check(self._oracle, runner, derive_seed(verdict.seed, "verify"))
        start_s = time.monotonic()
        try:
            self._check(check)
        finally:
            verdict.check_s = time.monotonic() - start_s
            verdict.warnings += check.tally.warnings
            verdict.numerics = check.tally.numerics()
        if not prepared.is_timed:
            return
        seed = derive_seed(verdict.seed, "looks")
        looks = Looks(seed, runner.child.mapped) if runner.is_read else None
        verdict.timing = self._time(verdict, check, None if is_first else looks, max_time_s)
        verdict.numerics = check.tally.numerics()
        verdict.warnings += [w for w in check.tally.warnings if w not in verdict.warnings]
        if is_first and not verdict.timing.speedups[verdict.timing.strongest].is_win:
            return
        prepared.sight = Sight(looks, looks_on=is_first and looks is not None)
        if not runner.is_read:
            prepared.sight.profiler = self._profilers.submit(self._start_profiler, runner)

    def identify(self, prepared: Preparation) -> None:
        """Find out of what kind an examined candidate is, where somebody wants to know.

        Raises:
            Refused: it is too fast to be true.
        """
        verdict, runner, sight = prepared.verdict, prepared.runner, prepared.sight
        if sight is None:
            return
        timed_ns = verdict.timing.median_ns(CANDIDATE)
        library_ns = verdict.timing.median_ns(verdict.timing.strongest)
        is_win = verdict.timing.speedups[verdict.timing.strongest].is_win
        sight.wait()
        with self._turns.alone():
            if sight.looks_on:
                samples_ns = verdict.timing.samples_ns[CANDIDATE]
                told = (self._oracle.arguments, verdict.seed, sight.looks, samples_ns)
                self._stopwatch.look_on(runner, *told)
            if is_win:
                overhead_ns = self._stopwatch.overhead_ns
                self._reading.refuse_impossible(
                    timed_ns, library_ns=library_ns, overhead_ns=overhead_ns
                )
            does_less = is_win and self._arithmetic.exceeds(timed_ns, library_ns=library_ns)
            verdict.warnings += [DOES_LESS] if does_less else []
            verdict.kinds = kinds.of(
                runner,
                self._oracle,
                sight.looks,
                source=prepared.candidate.source,
                timed_ns=timed_ns,
                does_less=does_less,
            )
            if self._settings.models:  # who reads it
                verdict.profile = profiling.of(runner, self._oracle, self._settings.contexts)

    def excuse(self) -> None:
        """What was examined is not to blame for what failed."""
        self._baselines.excuse()

    def close(self) -> None:
        """End the thread in which profilers start."""
        self._profilers.shutdown()

    def _start_profiler(self, runner: Runner) -> None:
        """Beside others, the next candidate's checks among them."""
        with runner.beside(self._turns):
            runner.profile(self._oracle.first_arguments)

    def _check(self, check: Check) -> None:
        """Calls on every distribution; first the task's own inputs, with its own weights and with
        others, so that a reason tells what no other weights are needed for."""
        self._stopwatch.limit_s = self._call_limit_s()
        repeated: dict[Draw, list[torch.Tensor]] = {}
        n_repeated = 0 if self._baselines.is_crowded else 2
        n_before = int(self._oracle.has_weights)
        draws = [*self._draws[:n_before], self._oracle.first, *self._draws[n_before:]]
        for number, draw in enumerate(draws):
            if self._oracle.spent.seconds > ORACLE_BUDGET_S and number > FEWEST_DRAWS:
                self._left_out += [one.distribution for one in self._draws[number - 1 :]]
                del self._draws[number - 1 :]  # for later candidates too: all are checked alike
                break
            with check.runner.beside(self._turns):
                try:
                    outputs = check.run(draw, self._stopwatch.turn)
                except Refused as refused:
                    if number > n_before:
                        raise
                    raise with_cause(refused, draw, check, self._stopwatch.turn) from None
                if draw == self._oracle.first:
                    self._visit_others(check)
            is_plain = draw.distribution in (TASK, *DISTRIBUTIONS)
            if outputs and is_plain and len(repeated) < n_repeated:
                repeated[draw] = outputs
            del outputs  # no need to hold it beside the next one's float64
        with check.runner.beside(self._turns):
            if not repeated:  # as memory is scarce: called once more, for a result to repeat
                repeated[self._oracle.first] = check.run(self._oracle.first, self._stopwatch.turn)
            check.runner.unpoison()
            check.repeat(repeated, limit_s=self._stopwatch.limit_s)
            check.finish()
        if self._left_out:
            names = ", ".join(dict.fromkeys(self._left_out))
            check.tally.warn([f"the reference is slow: not checked on {names} inputs"])

    def _visit_others(self, check: Check) -> None:
        """Calls on the other inputs that the task declares, and back."""
        for other in self._oracle.others.values():
            check.visit(other, self._stopwatch.turn)
        if self._oracle.others:
            check.come_home(self._stopwatch.turn)

    def _call_limit_s(self) -> float:
        slowest_ns = max(self._baselines.median_ns.values(), default=0.0)
        return max(CALL_LIMIT_S, SLOWEST * slowest_ns * 1e-9)

    def _time(self, verdict: Draft, check: Check, looks: Looks | None, max_time_s: float) -> Timing:
        """The rounds; anew without a setting that compiles in them, and once more, twice at most,
        where somebody else used the device all the time: a library's compiler may, for a moment."""
        n_disturbed = 0
        while True:
            try:
                return self._time_once(verdict, check, looks, max_time_s)
            except RunnerFailed as failed:
                if error := self._baselines.lose(failed):
                    raise error from failed
            except Disturbed:
                n_disturbed += 1
                if n_disturbed > MOST_DISTURBED:
                    raise
                time.sleep(DISTURBED_S)

    def _time_once(
        self, verdict: Draft, check: Check, looks: Looks | None, max_time_s: float
    ) -> Timing:
        self._baselines.start_again()
        self._baselines.measure()
        self._baselines.require_all()
        self._stopwatch.limit_s = self._call_limit_s()
        for name, reason in self._baselines.dropped.items():
            why = f"library setting {name} was not measured: {reason[:200]}"
            verdict.warnings += [why] if why not in verdict.warnings else []
        kept = self._baselines.kept()
        with self._turns.alone():
            start_s, watch = time.monotonic(), Watch(self._place, self._children.pids())
            try:
                with self._stopwatch.gathered([check.runner, *kept.values()]):
                    self._baselines.settle_in()
                    return self._stopwatch.compare(
                        check.runner,
                        kept,
                        strongest=self._baselines.strongest,
                        arguments_of=self._oracle.arguments,
                        check=check,
                        draws=self._draws,
                        seed=verdict.seed,
                        budget_s=max_time_s,
                        looks=looks,
                    )
            finally:
                verdict.time_s = time.monotonic() - start_s
                verdict.conditions = watch.end()
                verdict.warnings += complaints(verdict.conditions)


def _says_something(name: str, oracle: Oracle) -> bool:
    """Whether a distribution says something of a task, or would only make what is right fail: a
    mean that is far off, where no variance is taken, makes results cancel, and a matrix with rows
    of zeros, or of one large number, has not the rank to be taken apart."""
    if name == LARGE:
        return _hides_float16(oracle)
    if name == FAR:
        return oracle.has_variance and not are_narrow(oracle.first_arguments)
    return name not in (EMPTY, BELOW) or not oracle.factorises


def _hides_float16(oracle: Oracle) -> bool:
    """Whether errors as large as float16's are allowed, so that only its range tells it apart.

    Elsewhere large inputs say little: products round by more than a softmax is wide, and which of
    two wins is luck.
    """
    is_rounded = oracle.convolves and may_be_rounded(oracle.device)
    return is_rounded or oracle.precision in ("tf32", "bf16")
