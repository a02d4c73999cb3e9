"""Checks of a candidate's outputs: before timing on many distributions, and during it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.core.evaluation import Numerics, Status
from kernelwright.judge.compare import Agreement, Expected, WrongValues, are_near, compare, differ
from kernelwright.judge.inputs import RESAMPLED, SPECIAL
from kernelwright.judge.oracle import RANDOMISED, TASK, Draw, Oracle
from kernelwright.judge.outputs import Claim
from kernelwright.judge.refusal import Refused
from kernelwright.judge.runner import Call, Runner

VERIFIED_SHARE = 0.1
"""Of the timed calls, compared with float64; all are compared with eager's result."""
SURPRISE_SHARE = 0.2
"""Of the rounds, preceded by a checked call on another distribution."""
WARNING_ONLY = {
    RESAMPLED: "differs when integer inputs are resampled",
    SPECIAL: "treats NaN or infinity in the inputs otherwise than the reference",
}
LOAD_LIMIT_S = 60.0  # gigabytes of weights on a busy machine
LONGEST_HOLD = 6
"""Calls that outlive an output which the caller holds: buffers that take turns show then."""
LATE_NS, LATE_SHARE = 50_000, 0.5
"""How much longer than a baseline's its copy may take: the noise of a request and a reply."""


@dataclass
class Tally:
    """What the checks of one candidate have found so far."""

    worst: Agreement = field(default_factory=Agreement)
    reference_error: float = 0.0
    distributions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def numerics(self) -> Numerics:
        return Numerics(
            max_error=self.worst.error,
            reference_error=self.reference_error,
            allowed_error=self.worst.allowed,
            distributions=tuple(dict.fromkeys(self.distributions)),
        )

    def add(self, distribution: str, found: Agreement, expected: Expected) -> None:
        """Note one comparison; the one that uses most of its allowance is kept."""
        self.warn((*expected.warnings, *found.warnings))
        self.distributions.append(distribution)
        if found.share >= self.worst.share:
            self.worst, self.reference_error = found, expected.reference_error

    def warn(self, warnings: Any) -> None:
        self.warnings += [w for w in warnings if w not in self.warnings]


class Check:
    """Compares a candidate's outputs with the oracle's, element by element."""

    def __init__(self, oracle: Oracle, runner: Runner, seed: int) -> None:
        self.oracle = oracle
        self.runner = runner
        self.tally = Tally()
        self._coin = random.Random(seed)
        self._watched: tuple[list[Claim], list[torch.Tensor]] | None = None
        self._holds: list[int] = []
        self._calls_left = 0

    def run(self, draw: Draw, turn: Callable[..., Call]) -> None:
        """One checked call; nothing where the reference itself has no answer."""
        arguments = self.oracle.kept_arguments(draw)
        if self.oracle.expected(draw, arguments) is None:
            return
        is_reloaded = draw.weights != TASK
        if is_reloaded:
            self.runner.load(self.oracle.state(draw.weights), limit_s=LOAD_LIMIT_S)
        call = turn(self.runner, arguments, take=True)
        self.look(arguments, call)
        self._judge(draw, call.outputs, arguments)
        if is_reloaded:
            self.runner.load(self.oracle.state(TASK), limit_s=LOAD_LIMIT_S)

    def look(self, arguments: list[Any], call: Call) -> None:
        """What must hold after every call, before the child goes on."""
        if self.runner.changed_arguments(arguments) and not self.oracle.mutates_arguments:
            raise Refused(Status.REJECTED, "it writes to its inputs, which the reference does not")
        self._calls_left -= 1
        is_new = self._watched is None or self._calls_left <= 0
        if is_new:
            self._check_watched()
            if not self.oracle.returns_arguments:  # whose memory the judge itself overwrites
                self._watched = (call.claims, call.outputs)
            if not self._holds:
                self._holds = self._coin.sample(range(1, LONGEST_HOLD + 1), LONGEST_HOLD)
            self._calls_left = self._holds.pop()
        self.runner.release(hold=is_new)

    def compare_timed(
        self, draw: Draw, arguments: list[Any], outputs: list[torch.Tensor], eager: Any
    ) -> None:
        """Verify a timed call: beside eager's outputs of the same round, some against float64."""
        is_near = eager is not None and are_near(outputs, eager, self.oracle.usual)
        if not is_near or self._coin.random() < VERIFIED_SHARE:
            self._judge(draw, outputs, arguments)

    def surprise(self, draws: list[Draw]) -> Draw | None:
        """Now and then, a distribution to check between timed calls, so that none is told apart."""
        return self._coin.choice(draws) if self._coin.random() < SURPRISE_SHARE else None

    def finish(self) -> None:
        """What is left to verify after the last call."""
        self._check_watched()

    def _check_watched(self) -> None:
        """An output that the caller still holds must not change with later calls."""
        if self._watched is None:
            return
        claims, before = self._watched
        self._watched = None
        now = self.runner.outputs_held(claims)
        if any(differ(a, b) for a, b in zip(before, now, strict=True)):
            raise Refused(
                Status.REJECTED,
                "an output that the caller still held was overwritten by a later call",
            )

    def _judge(self, draw: Draw, outputs: list[torch.Tensor], arguments: list[Any]) -> None:
        expected = self.oracle.expected(draw, arguments)
        label = (
            "other weights" if draw.distribution == RANDOMISED else f"{draw.distribution} inputs"
        )
        try:
            try:
                found = compare(outputs, expected)
            except WrongValues:
                expected = self.oracle.conditioned(draw, arguments, expected)
                found = compare(outputs, expected)
        except WrongValues as wrong:
            if draw.distribution in WARNING_ONLY:
                self.tally.warn([f"{WARNING_ONLY[draw.distribution]}: {wrong}"])
                return
            where = "" if draw.distribution == TASK else f"on {label}: "
            raise Refused(Status.WRONG_VALUES, where + str(wrong)) from None
        self.tally.add(draw.distribution, found, expected)
