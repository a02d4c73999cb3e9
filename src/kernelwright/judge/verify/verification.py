"""Verification of a candidate's outputs: on every check before timing, and during it."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import torch

from kernelwright.core.evaluation import CANDIDATE
from kernelwright.core.outcome import ReasonCode, Status, Warned, WarningCode
from kernelwright.judge.baselines.library_settings import EAGER
from kernelwright.judge.checks import OWN_WEIGHTS, TASK, Draw, derive_seed
from kernelwright.judge.compare.measures import differ, furthest
from kernelwright.judge.compare.outputs import USELESS, Agreement, Expected, are_near, compare
from kernelwright.judge.compare.specials import nan_left, require_specials
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference import fitness
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, WrongValues
from kernelwright.judge.sandbox.layout import bytes_of, leaves
from kernelwright.judge.sandbox.runner import Call, Runner
from kernelwright.judge.verify import leniency
from kernelwright.judge.verify.held_outputs import HeldOutputs
from kernelwright.judge.verify.tally import Tally

VERIFIED_SHARE, FEWEST_VERIFIED = 0.1, 3
"""Share of the timed calls that are compared with float64, and how many at least: of seven calls
none would be drawn in half of the verdicts. All are compared with eager's result."""
SURPRISE_SHARE = 0.2
"""Share of the rounds that begin with a checked call on perturbed inputs."""
RECHECKS_S, FEWEST_RECHECKS = 0.3, 2
"""After the last round, for checks that had no turn during the rounds: seconds, and how many are
made however long they take."""
WATCHED, KEPT = "watched", "kept"
"""The names under which a child holds outputs: for a few calls, and to the end."""
KEPT_SHARE = 1 / 64
"""Share of the device's memory up to which an output is kept to the end."""
NO_RESULT = (Status.RUNTIME_ERROR, Status.WRONG_SHAPE, Status.WRONG_DTYPE)
"""Statuses that stand for wrong values where a call gives none."""
MOST_REPEATS, IN_TURNS, REPEATS_S = 30, 14, 0.08
"""Further calls on inputs of the first checks: how many at most, how many of them alternate
between inputs, and for how many seconds; at least one call on each."""
LOAD_LIMIT_S = 60.0  # gigabytes of weights on a busy machine
LONGEST_HOLD = 6
"""Calls during which the caller holds an output: longer than candidates rotate their buffers."""
Turn = Callable[..., Call]
"""Calls a runner with arguments, under the judge's clock."""


class Verification:
    """Compares one candidate's outputs with the oracle's, element by element."""

    def __init__(self, oracle: Oracle, runner: Runner, seed: int) -> None:
        self.oracle = oracle
        self.runner = runner
        self.tally = Tally()
        self._coin = random.Random(seed)
        self._held = HeldOutputs(oracle.profile.results, runner)
        self._holds: list[int] = []
        self._calls_left = 0
        self._rechecks = Rechecks(oracle, self._coin)
        self._timed = TimedSample(self._coin)

    def run(self, draw: Draw, turn: Turn) -> list[torch.Tensor]:
        """The outputs of one checked call; none where the reference itself has no answer."""
        arguments = self.oracle.inputs.kept(draw)
        expected = self.oracle.expectations.of(draw, arguments)
        if expected is None:
            self.tally.warn(self.oracle.expectations.refusals)
            return []
        is_reloaded = draw.weights != USUAL
        if is_reloaded:
            self.runner.load(self.oracle.state(draw.weights), limit_s=LOAD_LIMIT_S)
        try:
            call = turn(self.runner, arguments, take=True)
        except Refused as refused:
            if refused.status in NO_RESULT and self._is_warning_only(draw, expected):
                self._warn(draw, str(refused)[:200])
                return []
            raise refused.at(self._whole_place(draw)) from None
        self.look(arguments, call)
        self._compare(draw, call.outputs, arguments, expected)
        if is_reloaded:
            self.runner.load(self.oracle.state(USUAL), limit_s=LOAD_LIMIT_S)
        return call.outputs

    def repeat(self, before: dict[Draw, list[torch.Tensor]], *, limit_s: float) -> None:
        """More calls on the inputs that gave ``before``: they show races, and sums in an order that
        changes.

        First the inputs alternate, so that what is left in memory is never the right result; then
        the same inputs come again and again. Calls follow each other closely, on warm caches:
        threads meet otherwise than in timed calls. Results that differ by no more than the allowed
        error are a warning, because atomics are honest.
        """
        draws = list(before)
        spread, end_s = 0.0, time.monotonic() + REPEATS_S
        for number in range(MOST_REPEATS):
            if number >= len(draws) and time.monotonic() > end_s:
                break
            draw = draws[number % len(draws) if number < IN_TURNS else 0]
            arguments = self.oracle.inputs.kept(draw)
            self.runner.put(arguments)
            outputs = self.runner.call(limit_s=limit_s, take=True).outputs
            self._refuse_changed(arguments)
            self.runner.release()
            if any(map(differ, before[draw], outputs)):
                expected = self.oracle.expectations.of(draw, arguments)
                where = "when called again on the same inputs"
                self._compare(draw, outputs, arguments, expected, where=where)
                spread = max(spread, furthest(before[draw], outputs))
        if spread:
            share = f"up to {spread:.2g} of the row's largest value"
            told = f"results differ from run to run by {share}"
            self.tally.warn([Warned(WarningCode.VARIES, told)])

    def visit(self, draw: Draw, turn: Turn) -> None:
        """One checked call on another set of inputs that the task declares."""
        self._change_shapes(draw, draw.shapes.example)
        try:
            self.run(draw, turn)
        except Refused as refused:
            raise refused.at(draw.place) from None

    def come_home(self, turn: Turn) -> None:
        """Back to the task's own shapes after others, with one more checked call."""
        self._change_shapes(self.oracle.first, self.oracle.example)
        self.run(self.oracle.first, turn)

    def _change_shapes(self, draw: Draw, example: list[torch.Tensor]) -> None:
        self._held.check(WATCHED)
        self._held.check(KEPT)
        arguments = self.oracle.inputs.kept(draw)
        self.runner.reshape(arguments, self.oracle.state(USUAL), example)

    def look(self, arguments: list[Any], call: Call) -> None:
        """What must hold after every call, before the child goes on."""
        self._refuse_changed(arguments)
        self.tally.warn(self._held.refuse_shared(call.claims))
        self._calls_left -= 1
        names = [WATCHED] if WATCHED not in self._held or self._calls_left <= 0 else []
        if names:
            self._held.check(WATCHED, call.claims)
            if KEPT not in self._held and self._is_small(call.outputs):
                names.append(KEPT)
            self._held.take(names, call)
            if not self._holds:
                self._holds = self._coin.sample(range(1, LONGEST_HOLD + 1), LONGEST_HOLD)
            self._calls_left = self._holds.pop()
        self.runner.release(hold=names)

    def compare_timed(self, draw: Draw, arguments: list[Any], calls: dict[str, Call]) -> None:
        """Verify a timed call: beside eager's outputs of the same round, some against float64.

        ``calls`` of the round, by name, are taken out: float64 needs the memory.
        """
        outputs, usual = calls.pop(CANDIDATE).outputs, self.oracle.expectations.usual
        is_near = EAGER in calls and are_near(outputs, calls.pop(EAGER).outputs, usual)
        may_wait = self._is_small([*leaves(arguments), *outputs])
        timed = (draw, arguments, outputs)
        if self._timed.is_chosen(timed, at_once=not is_near, may_wait=may_wait):
            self._verify(*timed)

    def _verify(self, draw: Draw, arguments: list[Any], outputs: list[torch.Tensor]) -> None:
        self._timed.n_verified += 1
        self._compare(draw, outputs, arguments, self.oracle.expectations.of(draw, arguments))

    def is_surprised(self) -> bool:
        """Whether a round is to begin with a check, so that none can be told apart."""
        return self._coin.random() < SURPRISE_SHARE

    def get_ready(self, draws: list[Draw]) -> None:
        """Work out what the next recheck is to give, long before: by the time that passes before a
        checked call, a candidate that looks at the clock would know which calls are checked."""
        self._rechecks.get_ready(draws)

    def recheck(self, draws: list[Draw], turn: Turn) -> float:
        """One checked call on inputs never seen, the checks by turns; ``get_ready`` comes before.

        Returns:
            The seconds that it took.
        """
        start_s = time.monotonic()
        self.run(self._rechecks.next(), turn)
        self.get_ready(draws)
        return time.monotonic() - start_s

    def recheck_rest(self, draws: list[Draw], turn: Turn) -> None:
        """The checks that have had no turn since the rounds began, or as many as time allows."""
        end_s, n_before = time.monotonic() + RECHECKS_S, self._rechecks.n_made
        n_all = self._rechecks.begin_rest(draws)
        while self._rechecks.n_made < max(n_all, n_before + FEWEST_RECHECKS):
            is_enough = self._rechecks.n_made >= n_before + FEWEST_RECHECKS
            if is_enough and time.monotonic() > end_s:
                break
            self._call_between(turn)
            self.recheck(draws, turn)

    def _call_between(self, turn: Turn) -> None:
        """A call on inputs of the task's own, whose results are not compared: what was worked out
        before it says nothing about the call that follows."""
        arguments = self.oracle.arguments(Draw(TASK, self._coin.getrandbits(62)))
        self.look(arguments, turn(self.runner, arguments, take=True))

    def finish(self) -> None:
        """What is left to verify after the last call."""
        for timed in self._timed.left():
            self._verify(*timed)
        self._held.check(WATCHED)
        self._held.check(KEPT)

    def _refuse_changed(self, arguments: list[Any]) -> None:
        changed = self.oracle.profile.results.changed
        written = self.runner.changed_arguments(arguments)
        if not _is_beyond(written, changed):
            return
        # What the reference writes to may depend on the values.
        own = fitness.written_by(self.oracle.forward.modules[USUAL], arguments)
        if _is_beyond(written, own):
            which = "its inputs, which" if not any(changed) else "inputs that"
            seen = f"it writes to {which} the reference does not"
            raise Refused(ReasonCode.WROTE_TO_INPUTS, seen)

    def _is_small(self, outputs: list[torch.Tensor]) -> bool:
        """Whether an output may be kept for long beside all others."""
        return bytes_of(outputs) <= KEPT_SHARE * self.runner.backend.memory_bytes()

    def _is_warning_only(self, draw: Draw, expected: Expected) -> bool:
        """Whether a difference there is a matter for a warning."""
        policy = draw.check.policy
        return policy is not None and not policy.unless(
            self.oracle.profile, expected, self.tally.warned
        )

    def _warn(self, draw: Draw, why: str) -> None:
        self.tally.warned.add(draw.check)
        policy = draw.check.policy
        self.tally.warn([Warned(policy.code, f"{policy.warning}: {why}")])

    def _compare(
        self,
        draw: Draw,
        outputs: list[torch.Tensor],
        arguments: list[Any],
        expected: Expected,
        *,
        where: str = "",
    ) -> None:
        is_asked = draw.check.answer_counts and self.oracle.profile.asks_for_specials
        left = nan_left(outputs, expected) if is_asked else ""
        try:
            if left:
                raise WrongValues(left)
            found, expected = self._compared(draw, outputs, arguments, expected)
            if not self._is_warning_only(draw, expected):
                require_specials(outputs, expected)
        except WrongValues as wrong:
            if not left and self._is_warning_only(draw, expected):
                self._warn(draw, str(wrong))
                return
            self.tally.warn(expected.warnings)
            self.tally.names.append(draw.name)
            where = where or self._whole_place(draw)
            raise Refused(ReasonCode.OUTPUT_VALUES, str(wrong), place=where) from None
        self.tally.add(draw.name, found, expected, where or self._place(draw))

    def _place(self, draw: Draw) -> str:
        if draw.check is OWN_WEIGHTS:
            return ""
        if draw.check is TASK:
            return "on other weights" if self.oracle.profile.has_weights else ""
        return draw.place

    def _whole_place(self, draw: Draw) -> str:
        """For a refusal: with what was varied of the task's own, so that its author finds it."""
        varied = "" if draw.shapes else self.oracle.profile.inputs.fixed.text()
        return ", ".join(filter(None, (self._place(draw), varied)))

    def _compared(
        self, draw: Draw, outputs: list[torch.Tensor], arguments: list[Any], expected: Expected
    ) -> tuple[Agreement, Expected]:
        """How well outputs agree, and with what: allowances that cost runs come when others fail.

        Raises:
            WrongValues: they do not agree.
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
        if draw.check.is_own and wrong.error > USELESS:  # no rounding explains so much
            raise wrong
        expected = leniency.by_operators(self.oracle, draw, arguments, expected)
        return compare(outputs, expected), expected


Timed = tuple[Draw, list[Any], list[torch.Tensor]]
"""A timed call: its draw, arguments and outputs."""


class TimedSample:
    """Which timed calls are compared with float64, drawn at random from all of them."""

    def __init__(self, coin: random.Random) -> None:
        self._coin = coin
        self._n_timed = self.n_verified = 0
        self._waiting: list[Timed] = []

    def is_chosen(self, timed: Timed, *, at_once: bool, may_wait: bool) -> bool:
        """Whether to verify a call now, ``at_once`` in any case; where it ``may_wait``, another one
        may be verified at the end."""
        self._n_timed += 1
        share = VERIFIED_SHARE
        if not may_wait:  # too large to be kept until the end
            share = max(share, FEWEST_VERIFIED / self._n_timed)
        if at_once or self._coin.random() < share:
            return True
        if may_wait:
            self._waiting.append(timed)
            if len(self._waiting) > FEWEST_VERIFIED:
                self._drop_one()
        return False

    def _drop_one(self) -> None:
        """Drop a waiting call such that each timed call is among them with the same probability."""
        place = self._coin.randrange(self._n_timed - self.n_verified)
        del self._waiting[place if place < FEWEST_VERIFIED else -1]

    def left(self) -> Iterator[Timed]:
        """The calls that are still to be verified, while fewer than FEWEST_VERIFIED have been."""
        self._coin.shuffle(self._waiting)
        while self._waiting and self.n_verified < FEWEST_VERIFIED:
            yield self._waiting.pop()
        self._waiting.clear()


class Rechecks:
    """Checked calls during the rounds and after them, on inputs never seen."""

    def __init__(self, oracle: Oracle, coin: random.Random) -> None:
        self._oracle, self._coin = oracle, coin
        self.n_made = 0
        self._left: list[Draw] = []
        self._n_drawn: Counter[Draw] = Counter()
        """By check and turn: what was worked out for one candidate serves the next."""
        self._ready: Draw | None = None

    def get_ready(self, draws: list[Draw]) -> None:
        """Choose the next one, and work out what it should give."""
        self._refill(draws)
        draw = self._left.pop()
        self._n_drawn[draw] += 1
        seed = derive_seed(self._oracle.secret, draw.name, self._n_drawn[draw])
        self._ready = Draw(draw.check, seed + draw.turn, draw.turn)
        self._oracle.expectations.of(self._ready, self._oracle.inputs.kept(self._ready))

    def next(self) -> Draw:
        """The one that is ready."""
        self.n_made += 1
        return self._ready

    def begin_rest(self, draws: list[Draw]) -> int:
        """Put the checks first that a sample of the inputs does not show, whether they have had a
        turn or not; how many rechecks there are in all until each check has had one."""
        self._refill(draws)
        rare = [draw for draw in draws if draw.check.is_rare]
        n_before = len(self._left)
        self._left = [draw for draw in self._left if draw not in rare] + rare
        return len(draws) + len(self._left) - n_before

    def _refill(self, draws: list[Draw]) -> None:
        if not self._left:
            self._left = self._coin.sample(draws, len(draws))


def _is_beyond(written: list[bool], known: list[bool]) -> bool:
    """Whether more is written to than is known to be."""
    return any(one and not other for one, other in zip_longest(written, known, fillvalue=False))
