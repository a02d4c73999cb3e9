"""Verification of a candidate's outputs: on every check before timing, and during it."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import torch

from kernelwright.core.outcome import ReasonCode, Status, Warned, WarningCode
from kernelwright.judge.checks import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.compare.expected import USELESS, Expected
from kernelwright.judge.compare.measures import differ, furthest
from kernelwright.judge.compare.outputs import Agreement, are_near, compare
from kernelwright.judge.compare.specials import nan_left, require_specials
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.reference import fitness
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused, WrongValues
from kernelwright.judge.sandbox.calls import Call, Window
from kernelwright.judge.sandbox.layout import bytes_of, leaves
from kernelwright.judge.sandbox.outputs import refuse_reused
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.verify import leniency
from kernelwright.judge.verify.chance import Rechecks, TimedSample
from kernelwright.judge.verify.held_outputs import HeldOutputs
from kernelwright.judge.verify.tally import Tally

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
        """Make one checked call and return its outputs; none if the reference itself has no
        answer."""
        arguments = self.oracle.inputs.kept(draw)
        expected = self.oracle.expectations.of(draw, arguments)
        if expected is None:
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
        outputs = outputs_of(call)
        self._compare(draw, outputs, arguments, expected)
        if is_reloaded:
            self.runner.load(self.oracle.state(USUAL), limit_s=LOAD_LIMIT_S)
        return outputs

    def repeat(self, before: dict[Draw, list[torch.Tensor]], *, limit_s: float) -> None:
        """Call again on the inputs that gave ``before``: that shows races, and sums in an order
        that changes.

        First the inputs alternate, so that memory never holds the right result from before; then
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
            outputs = outputs_of(self.runner.call(limit_s=limit_s, take=True))
            self._refuse_changed(arguments)
            self.runner.release()
            if any(map(differ, before[draw], outputs)):
                expected = self._expected(draw, arguments)
                where = "when called again on the same inputs"
                self._compare(draw, outputs, arguments, expected, where=where)
                spread = max(spread, furthest(before[draw], outputs))
        if spread:
            share = f"up to {spread:.2g} of the row's largest value"
            told = f"results differ from run to run by {share}"
            self.tally.warn([Warned(WarningCode.VARIES, told)])

    def visit(self, draw: Draw, turn: Turn) -> None:
        """Make one checked call on another set of inputs that the task declares."""
        assert draw.shapes is not None
        self._change_shapes(draw, draw.shapes.example)
        try:
            self.run(draw, turn)
        except Refused as refused:
            raise refused.at(draw.place) from None

    def come_home(self, turn: Turn) -> None:
        """Return to the task's own shapes after others, with one more checked call."""
        self._change_shapes(self.oracle.first, self.oracle.example)
        self.run(self.oracle.first, turn)

    def _change_shapes(self, draw: Draw, example: list[torch.Tensor]) -> None:
        self._held.check(WATCHED)
        self._held.check(KEPT)
        arguments = self.oracle.inputs.kept(draw)
        self.runner.reshape(arguments, self.oracle.state(USUAL), example)

    def look(self, arguments: list[Any], call: Call) -> None:
        """Check what must hold after every call, before the child goes on: it has written to no
        other argument than the reference does, and shares no memory with outputs that are held."""
        self._refuse_changed(arguments)
        self._hold(call)

    def look_at_window(self, inputs: Mapping[int, list[Any]], window: Window) -> None:
        """Check the same after a window, of the calls whose outputs were taken; no two calls'
        outputs share memory. ``inputs``: their arguments, by place."""
        for place, arguments in inputs.items():
            self._refuse_written(window.written[place], arguments)
        results = self.oracle.profile.results
        refuse_reused(window.claims, self.runner.like, but_for=results.lent)
        for claims in window.claims[:-1]:
            self._held.refuse_shared(claims)
        self._hold(window.last)

    def _hold(self, call: Call) -> None:
        """See that a call's outputs share no memory with those that are held; hold them instead, or
        let them go."""
        self.tally.warn(self._held.refuse_shared(call.claims))
        self._calls_left -= 1
        names = [WATCHED] if WATCHED not in self._held or self._calls_left <= 0 else []
        if names:
            self._held.check(WATCHED, call.claims)
            if KEPT not in self._held and self._is_small(outputs_of(call)):
                names.append(KEPT)
            self._held.take(names, call)
            if not self._holds:
                self._holds = self._coin.sample(range(1, LONGEST_HOLD + 1), LONGEST_HOLD)
            self._calls_left = self._holds.pop()
        self.runner.release(hold=names)

    def compare_timed(
        self, draw: Draw, arguments: list[Any], call: Call, eager: Call | None
    ) -> None:
        """Verify a timed call beside eager's outputs on the same inputs, and by chance against
        float64."""
        outputs, usual = outputs_of(call), self.oracle.expectations.usual
        is_near = False
        if eager is not None and usual is not None:
            is_near = are_near(outputs, outputs_of(eager), usual)
        may_wait = self._is_small([*leaves(arguments), *outputs])
        timed = (draw, arguments, outputs)
        if self._timed.is_chosen(timed, at_once=not is_near, may_wait=may_wait):
            self._verify(*timed)

    def _verify(self, draw: Draw, arguments: list[Any], outputs: list[torch.Tensor]) -> None:
        self._timed.n_verified += 1
        self._compare(draw, outputs, arguments, self._expected(draw, arguments))

    def _expected(self, draw: Draw, arguments: list[Any]) -> Expected:
        """Return what a call should return for which the reference is known to have an answer."""
        expected = self.oracle.expectations.of(draw, arguments)
        assert expected is not None
        return expected

    def is_surprised(self) -> bool:
        """Whether a round is to begin with a check, so that none can be told apart."""
        return self._coin.random() < SURPRISE_SHARE

    def get_ready(self, draws: list[Draw]) -> None:
        """Work out long before what the next recheck should give: by the time that passes before
        a checked call, a candidate that looks at the clock would know which calls are checked."""
        self._rechecks.get_ready(draws)

    def recheck(self, draws: list[Draw], turn: Turn) -> float:
        """Make one checked call on inputs never seen, the checks by turns; ``get_ready`` comes
        before. Returns the seconds that it took."""
        start_s = time.monotonic()
        self.run(self._rechecks.next(), turn)
        self.get_ready(draws)
        return time.monotonic() - start_s

    def recheck_rest(self, draws: list[Draw], turn: Turn) -> None:
        """Make the checks that have had no turn since the rounds began, or as many as time
        allows."""
        end_s, n_before = time.monotonic() + RECHECKS_S, self._rechecks.n_made
        n_all = self._rechecks.begin_rest(draws)
        while self._rechecks.n_made < max(n_all, n_before + FEWEST_RECHECKS):
            is_enough = self._rechecks.n_made >= n_before + FEWEST_RECHECKS
            if is_enough and time.monotonic() > end_s:
                break
            self._call_between(turn)
            self.recheck(draws, turn)

    def _call_between(self, turn: Turn) -> None:
        """Call on inputs of the task's own without comparing results, so that the time before a
        checked call says nothing about it."""
        arguments = self.oracle.arguments(Draw(TASK, self._coin.getrandbits(62)))
        self.look(arguments, turn(self.runner, arguments, take=True))

    def finish(self) -> None:
        """Verify what is left after the last call."""
        for timed in self._timed.left():
            self._verify(*timed)
        self._held.check(WATCHED)
        self._held.check(KEPT)

    def _refuse_changed(self, arguments: list[Any]) -> None:
        self._refuse_written(self.runner.changed_arguments(arguments), arguments)

    def _refuse_written(self, written: list[bool], arguments: list[Any]) -> None:
        changed = self.oracle.profile.results.changed
        if not _is_beyond(written, changed):
            return
        # The reference may write to other arguments for other values.
        own = fitness.written_by(self.oracle.forward.modules[USUAL], arguments)
        if _is_beyond(written, own):
            which = "its inputs, which" if not any(changed) else "inputs that"
            seen = f"it writes to {which} the reference does not"
            raise Refused(ReasonCode.WROTE_TO_INPUTS, seen)

    def _is_small(self, outputs: list[torch.Tensor]) -> bool:
        """Whether an output may be kept for long beside all others."""
        return bytes_of(outputs) <= KEPT_SHARE * self.runner.backend.memory_bytes()

    def _is_warning_only(self, draw: Draw, expected: Expected) -> bool:
        """Whether a difference under this draw's check is only a warning."""
        policy = draw.check.policy
        return policy is not None and not policy.unless(
            self.oracle.profile, expected, self.tally.warned
        )

    def _warn(self, draw: Draw, why: str) -> None:
        self.tally.warned.add(draw.check)
        policy = draw.check.policy
        assert policy is not None
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
        """The place for a refusal, with the inputs that were varied, so that its author can find
        it."""
        varied = "" if draw.shapes else self.oracle.profile.inputs.fixed.text()
        return ", ".join(filter(None, (self._place(draw), varied)))

    def _compared(
        self, draw: Draw, outputs: list[torch.Tensor], arguments: list[Any], expected: Expected
    ) -> tuple[Agreement, Expected]:
        """Compare outputs; allowances that cost runs of the reference come when others fail.

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


def outputs_of(call: Call) -> list[torch.Tensor]:
    """The outputs of a call that took them."""
    assert call.outputs is not None
    return call.outputs


def _is_beyond(written: list[bool], known: list[bool]) -> bool:
    """Whether a tensor was written to that is not known to be."""
    return any(one and not other for one, other in zip_longest(written, known, fillvalue=False))
