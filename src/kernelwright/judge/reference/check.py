"""Checks of a candidate's outputs: before timing on many distributions, and during it."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import torch

from kernelwright.core.evaluation import CANDIDATE, Status
from kernelwright.judge.baselines import EAGER
from kernelwright.judge.children.runner import Call, Runner
from kernelwright.judge.compare.measures import differ, furthest
from kernelwright.judge.compare.outputs import USELESS, Agreement, Expected, are_near, compare
from kernelwright.judge.compare.specials import nan_left, require_specials
from kernelwright.judge.machine.layout import bytes_of, leaves
from kernelwright.judge.perturb.distributions import (
    COLLIDING,
    EMPTY,
    OVERFLOWING,
    RESAMPLED,
    SKEWED,
    SPECIAL,
)
from kernelwright.judge.perturb.draws import (
    LARGE_WEIGHTS,
    OWN_WEIGHTS,
    SMALL_WEIGHTS,
    TASK,
    TOUCHED,
    Draw,
    Other,
    derive_seed,
)
from kernelwright.judge.perturb.extremes import OUTLIERS
from kernelwright.judge.reference import fitness, leniency
from kernelwright.judge.reference.holding import Holding
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.reference.tally import Tally
from kernelwright.judge.refusal import Refused, WrongValues

VERIFIED_SHARE, FEWEST_VERIFIED = 0.1, 3
"""Of the timed calls, compared with float64, and how many at least: of seven none is drawn in half
of the verdicts. All are compared with eager's result."""
SURPRISE_SHARE = 0.2
"""Of the rounds, preceded by a checked call on another distribution."""
RECHECKS_S, FEWEST_RECHECKS = 0.3, 2
"""For distributions that no round was preceded by: so many are checked at least, after the last,
and more as the time allows."""
WATCHED, KEPT = "watched", "kept"
"""The names under which a child holds outputs: for some calls, and to the end."""
KEPT_SHARE = 1 / 64
"""Of the device's memory, that an output may take to be kept to the end."""
WARNING_ONLY = {
    RESAMPLED: "differs when integer inputs are resampled",
    SKEWED: "differs when integer inputs are skewed",
    SPECIAL: "treats NaN or infinity in the inputs otherwise than the reference",
    OVERFLOWING: "overflows on inputs so large that the reference nearly does",
    EMPTY: "treats rows of zeros in the inputs otherwise than the reference",
}
NO_RESULT = (Status.RUNTIME_ERROR, Status.WRONG_SHAPE, Status.WRONG_DTYPE)
"""What stands for wrong values where a call gives none."""
MOST_REPEATS, IN_TURNS, REPEATS_S = 30, 14, 0.08
"""Further calls on inputs of the first checks, as many as the time allows; on each one at least."""
PLACES = {
    OWN_WEIGHTS: "",
    LARGE_WEIGHTS: "on large weights",
    SMALL_WEIGHTS: "on weights of which single numbers are small",
    TOUCHED: "when some numbers of each weight have changed",
    SPECIAL: "on inputs with NaN and infinities",
    SKEWED: "where integers are skewed (half of the places hold one of the task's own)",
    COLLIDING: "where some integers are what the reference compares them with",
    EMPTY: "on inputs with slices of zeros",
}
"""Where something was wrong; of other distributions their inputs are named."""
LOAD_LIMIT_S = 60.0  # gigabytes of weights on a busy machine
LONGEST_HOLD = 6
"""Calls that outlive an output which the caller holds: buffers that take turns show then."""


class Check:
    """Compares a candidate's outputs with the oracle's, element by element."""

    def __init__(self, oracle: Oracle, runner: Runner, seed: int) -> None:
        self.oracle = oracle
        self.runner = runner
        self.tally = Tally()
        self._coin = random.Random(seed)
        self._holding = Holding(oracle, runner)
        self._left: list[Draw] = []
        self._ready: Draw | None = None
        self._n_rechecks = 0
        self._n_drawn: Counter[Draw] = Counter()
        """By distribution, so that what was worked out for one candidate serves the next."""
        self._holds: list[int] = []
        self._calls_left = 0
        self._n_timed = self._n_verified = 0
        self._unverified: list[tuple[Draw, list[Any], list[torch.Tensor]]] = []
        """Some timed calls that were near eager's, drawn at random from all of them."""

    def run(self, draw: Draw, turn: Callable[..., Call]) -> list[torch.Tensor]:
        """The outputs of one checked call; none where the reference itself has no answer."""
        arguments = self.oracle.kept_arguments(draw)
        expected = self.oracle.expected(draw, arguments)
        if expected is None:
            self.tally.warn(self.oracle.refusals)
            return []
        is_reloaded = draw.weights != TASK
        if is_reloaded:
            self.runner.load(self.oracle.state(draw.weights), limit_s=LOAD_LIMIT_S)
        try:
            call = turn(self.runner, arguments, take=True)
        except Refused as refused:
            if refused.status in NO_RESULT and self._is_excused(draw, expected):
                self.tally.warn([f"{WARNING_ONLY[draw.distribution]}: {refused.reason[:200]}"])
                return []
            reason = ": ".join(filter(None, (self._whole_place(draw), refused.reason)))
            raise Refused(refused.status, reason) from None
        self.look(arguments, call)
        self._judge(draw, call.outputs, arguments, expected)
        if is_reloaded:
            self.runner.load(self.oracle.state(TASK), limit_s=LOAD_LIMIT_S)
        return call.outputs

    def repeat(self, before: dict[Draw, list[torch.Tensor]], *, limit_s: float) -> None:
        """More calls on the inputs that gave ``before``: races show, and sums in changing order.

        First in turns, so that what is left in memory is never the right result, then on the same
        inputs again and again. They follow each other closely, on warm caches: threads meet
        otherwise than in timed calls. Results that differ by no more than the allowed error are a
        warning: atomics are honest.
        """
        draws = list(before)
        spread, end_s = 0.0, time.monotonic() + REPEATS_S
        for number in range(MOST_REPEATS):
            if number >= len(draws) and time.monotonic() > end_s:
                break
            draw = draws[number % len(draws) if number < IN_TURNS else 0]
            arguments = self.oracle.kept_arguments(draw)
            self.runner.put(arguments)
            outputs = self.runner.call(limit_s=limit_s, take=True).outputs
            self._refuse_changed(arguments)
            self.runner.release()
            if any(map(differ, before[draw], outputs)):
                expected = self.oracle.expected(draw, arguments)
                where = "when called again on the same inputs"
                self._judge(draw, outputs, arguments, expected, where=where)
                spread = max(spread, furthest(before[draw], outputs))
        if spread:
            share = f"up to {spread:.2g} of the row's largest value"
            self.tally.warn([f"results differ from run to run by {share}"])

    def visit(self, other: Other, turn: Callable[..., Call]) -> None:
        """One checked call on another set of inputs that the task declares."""
        self._change_shapes(other.draw, other.example)
        place = self._place(other.draw)
        try:
            self.run(other.draw, turn)
        except Refused as refused:
            reason = refused.reason.removeprefix(f"{place}: ")
            raise Refused(refused.status, f"{place}: {reason}") from None

    def come_home(self, turn: Callable[..., Call]) -> None:
        """Back to the task's own shapes after others, with one more checked call."""
        self._change_shapes(self.oracle.first, self.oracle.example)
        self.run(self.oracle.first, turn)

    def _change_shapes(self, draw: Draw, example: list[torch.Tensor]) -> None:
        self._holding.check(WATCHED)
        self._holding.check(KEPT)
        arguments = self.oracle.kept_arguments(draw)
        self.runner.reshape(arguments, self.oracle.state(TASK), example)

    def look(self, arguments: list[Any], call: Call) -> None:
        """What must hold after every call, before the child goes on."""
        self._refuse_changed(arguments)
        self.tally.warn(self._holding.refuse_shared(call.claims))
        self._calls_left -= 1
        names = [WATCHED] if WATCHED not in self._holding or self._calls_left <= 0 else []
        if names:
            self._holding.check(WATCHED, call.claims)
            if KEPT not in self._holding and self._is_small(call.outputs):
                names.append(KEPT)
            self._holding.take(names, call)
            if not self._holds:
                self._holds = self._coin.sample(range(1, LONGEST_HOLD + 1), LONGEST_HOLD)
            self._calls_left = self._holds.pop()
        self.runner.release(hold=names)

    def compare_timed(self, draw: Draw, arguments: list[Any], calls: dict[str, Call]) -> None:
        """Verify a timed call: beside eager's outputs of the same round, some against float64.

        ``calls`` of the round, by name, are taken out: float64 needs the memory.
        """
        outputs, usual = calls.pop(CANDIDATE).outputs, self.oracle.usual
        is_near = EAGER in calls and are_near(outputs, calls.pop(EAGER).outputs, usual)
        self._n_timed += 1
        is_kept = self._is_small([*leaves(arguments), *outputs])
        share = VERIFIED_SHARE if is_kept else max(VERIFIED_SHARE, FEWEST_VERIFIED / self._n_timed)
        if not is_near or self._coin.random() < share:
            self._verify(draw, arguments, outputs)
        elif is_kept:
            self._unverified.append((draw, arguments, outputs))
            if len(self._unverified) > FEWEST_VERIFIED:
                self._leave_one()

    def _leave_one(self) -> None:
        """Verify one kept call less, so that each timed call is among them as likely as others."""
        n_unverified = self._n_timed - self._n_verified
        place = self._coin.randrange(n_unverified)
        del self._unverified[place if place < FEWEST_VERIFIED else -1]

    def _verify(self, draw: Draw, arguments: list[Any], outputs: list[torch.Tensor]) -> None:
        self._n_verified += 1
        self._judge(draw, outputs, arguments, self.oracle.expected(draw, arguments))

    def is_surprised(self) -> bool:
        """Whether a round is to begin with another distribution, so that none is told apart."""
        return self._coin.random() < SURPRISE_SHARE

    def recheck(self, draws: list[Draw], turn: Callable[..., Call]) -> float:
        """One checked call on one of the distributions, each in its turn, on inputs never seen;
        the first after ``get_ready``.

        Returns:
            The seconds that it took.
        """
        start_s = time.monotonic()
        self._n_rechecks += 1
        self.run(self._ready, turn)
        self.get_ready(draws)
        return time.monotonic() - start_s

    def get_ready(self, draws: list[Draw]) -> None:
        """Work out what the next recheck is to give, long before: a candidate that looks at the
        clock would else know the calls that are checked by the time which passes before them."""
        self._refill(draws)
        draw = self._left.pop()
        self._n_drawn[draw] += 1
        seed = derive_seed(self.oracle.secret, draw.distribution, self._n_drawn[draw])
        self._ready = Draw(draw.distribution, seed + draw.turn, draw.turn)
        self.oracle.expected(self._ready, self.oracle.kept_arguments(self._ready))

    def _refill(self, draws: list[Draw]) -> None:
        if not self._left:
            self._left = self._coin.sample(draws, len(draws))

    def recheck_rest(self, draws: list[Draw], turn: Callable[..., Call]) -> None:
        """The distributions that have had no turn since the checks, or as many as time allows."""
        end_s, n_before = time.monotonic() + RECHECKS_S, self._n_rechecks
        self._refill(draws)
        # First those that no sample tells from the task's own, whether they had a turn or not.
        rare = [draw for draw in draws if draw.distribution == OUTLIERS]
        n_before_rare = len(self._left)
        self._left = [draw for draw in self._left if draw not in rare] + rare
        n_all = len(draws) + len(self._left) - n_before_rare
        while self._n_rechecks < n_all or self._n_rechecks < n_before + FEWEST_RECHECKS:
            is_late = time.monotonic() > end_s
            if is_late and self._n_rechecks >= n_before + FEWEST_RECHECKS:
                break
            self._between(turn)
            self.recheck(draws, turn)

    def _between(self, turn: Callable[..., Call]) -> None:
        """A call on inputs of the task's own, whose results nobody compares: what was worked out
        before it says nothing about the one that follows."""
        arguments = self.oracle.arguments(Draw(TASK, self._coin.getrandbits(62)))
        self.look(arguments, turn(self.runner, arguments, take=True))

    def finish(self) -> None:
        """What is left to verify after the last call."""
        self._coin.shuffle(self._unverified)
        while self._unverified and self._n_verified < FEWEST_VERIFIED:
            self._verify(*self._unverified.pop())
        self._unverified.clear()
        self._holding.check(WATCHED)
        self._holding.check(KEPT)

    def _refuse_changed(self, arguments: list[Any]) -> None:
        written = self.runner.changed_arguments(arguments)
        if not _is_beyond(written, self.oracle.changed):
            return
        own = fitness.written_by(self.oracle.modules[TASK], arguments)  # it may hang on the values
        if _is_beyond(written, own):
            which = "its inputs, which" if not any(self.oracle.changed) else "inputs that"
            raise Refused(Status.REJECTED, f"it writes to {which} the reference does not")

    def _is_small(self, outputs: list[torch.Tensor]) -> bool:
        """Whether an output may be kept for long beside all others."""
        return bytes_of(outputs) <= KEPT_SHARE * self.runner.place.memory_bytes()

    def _is_excused(self, draw: Draw, expected: Expected) -> bool:
        """Whether a difference there is a matter for a warning. Integers that the task draws anew
        may have to be more than legal; those that it never changes are to be read all the same. So
        are zeros that the reference asks for, and NaN of which it leaves none. Of skewed integers
        it is one where the candidate differs when they are resampled: had they no form, they were
        the task's own then; and it is the form that it relies on."""
        is_known = draw.distribution in (RESAMPLED, SKEWED) and any(self.oracle.fixed_integers)
        if draw.distribution == SKEWED:
            told = WARNING_ONLY[RESAMPLED]
            is_known |= not any(one.startswith(told) for one in self.tally.warnings)
        is_known |= draw.distribution == EMPTY and EMPTY in self.oracle.asked
        if self._asks_for_specials(draw):
            is_known = not any(bool(exact.isnan().any()) for exact in expected.exact)
        return draw.distribution in WARNING_ONLY and not is_known

    def _asks_for_specials(self, draw: Draw) -> bool:
        """Whether there are NaN in these inputs, and the reference asks for them."""
        return draw.distribution == SPECIAL and SPECIAL in self.oracle.asked

    def _judge(
        self,
        draw: Draw,
        outputs: list[torch.Tensor],
        arguments: list[Any],
        expected: Expected,
        *,
        where: str = "",
    ) -> None:
        left = nan_left(outputs, expected) if self._asks_for_specials(draw) else ""
        try:
            if left:
                raise WrongValues(left)
            found, expected = self._compared(draw, outputs, arguments, expected)
            if not self._is_excused(draw, expected):
                require_specials(outputs, expected)
        except WrongValues as wrong:
            if not left and self._is_excused(draw, expected):
                self.tally.warn([f"{WARNING_ONLY[draw.distribution]}: {wrong}"])
                return
            self.tally.warn(expected.warnings)
            self.tally.distributions.append(draw.distribution)
            where = where or self._whole_place(draw)
            raise Refused(Status.WRONG_VALUES, f"{where}: {wrong}".removeprefix(": ")) from None
        self.tally.add(draw.distribution, found, expected, where or self._place(draw))

    def _place(self, draw: Draw) -> str:
        if draw.distribution == TASK:
            return "on other weights" if self.oracle.has_weights else ""
        return PLACES.get(draw.distribution, f"on {draw.distribution} inputs")

    def _whole_place(self, draw: Draw) -> str:
        """For a refusal: with what was varied of the task's own, so that its author finds it."""
        varied = "" if draw.distribution in self.oracle.others else self.oracle.fixed.text()
        return ", ".join(filter(None, (self._place(draw), varied)))

    def _compared(
        self, draw: Draw, outputs: list[torch.Tensor], arguments: list[Any], expected: Expected
    ) -> tuple[Agreement, Expected]:
        """How well outputs agree, and with what: allowances that cost runs come when others fail.

        Raises:
            WrongValues: they do not.
        """
        with contextlib.suppress(WrongValues):
            return compare(outputs, expected), expected
        expected = leniency.conditioned(self.oracle, draw, arguments, expected)
        try:
            return compare(outputs, expected), expected
        except WrongValues as one:
            wrong = one
        if wrong.is_little:
            expected = leniency.jumping(self.oracle, draw, arguments, expected)
            with contextlib.suppress(WrongValues):
                return compare(outputs, expected), expected
        if self.oracle.is_own(draw) and wrong.error > USELESS:  # no rounding explains so much
            raise wrong
        expected = leniency.by_operators(self.oracle, draw, arguments, expected)
        return compare(outputs, expected), expected


def _is_beyond(written: list[bool], known: list[bool]) -> bool:
    """Whether more is written to than is known to be."""
    return any(one and not other for one, other in zip_longest(written, known, fillvalue=False))
