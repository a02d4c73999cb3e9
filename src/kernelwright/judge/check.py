"""Checks of a candidate's outputs: before timing on many distributions, and during it."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.core.evaluation import Numerics, Status
from kernelwright.judge.compare import WrongValues, compare
from kernelwright.judge.oracle import RANDOMISED, TASK, Draw, Oracle
from kernelwright.judge.outputs import Claim
from kernelwright.judge.refusal import Refused
from kernelwright.judge.runner import Call, Runner

VERIFIED_SHARE = 0.3
"""Of the timed calls, drawn after each call; the first is always verified. A cheat in most of
the calls, as it must be to move a median, escapes 7 rounds with probability below 0.65^4."""


MIN_COPIES = 30
LATE_NS, LATE_SHARE = 50_000, 0.5
"""How much longer than a baseline's its copy may take: the noise of a request and a reply."""


@dataclass
class Tally:
    """What the checks of one candidate have found so far."""

    max_error: float = 0.0
    reference_error: float = 0.0
    allowed_error: float = 0.0
    distributions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def numerics(self) -> Numerics:
        return Numerics(
            max_error=self.max_error,
            reference_error=self.reference_error,
            allowed_error=self.allowed_error,
            distributions=tuple(dict.fromkeys(self.distributions)),
        )

    def warn(self, warnings: Any) -> None:
        self.warnings += [w for w in warnings if w not in self.warnings]


class Check:
    """Compares a candidate's outputs with the oracle's, element by element."""

    def __init__(self, oracle: Oracle, runner: Runner, seed: int) -> None:
        self.oracle = oracle
        self.runner = runner
        self.tally = Tally()
        self._coin = random.Random(seed)
        self._kept: list[tuple[Draw, list[Any], list[torch.Tensor]]] = []
        self._watched: tuple[list[Claim], list[torch.Tensor]] | None = None

    def run(self, draw: Draw, *, limit_s: float) -> None:
        """One checked call; nothing where the reference itself has no answer."""
        arguments = self.oracle.arguments(draw)
        if self.oracle.expected(draw, arguments) is None:
            return
        self.runner.put(arguments)
        call = self.runner.call(limit_s=limit_s, take=True)
        self.take(draw, arguments, call)
        self._settle()

    def wants(self) -> bool:
        """Whether to verify the coming timed call; drawn anew for each."""
        return not self._kept or self._coin.random() < VERIFIED_SHARE

    def take(self, draw: Draw, arguments: list[Any], call: Call) -> None:
        """Keep the outputs of a call until there is time to verify them."""
        if self.runner.changed_arguments(arguments) and not self.oracle.mutates_arguments:
            raise Refused(Status.REJECTED, "it writes to its inputs, which the reference does not")
        self._check_watched()
        self._kept.append((draw, arguments, call.outputs))
        self._watched = (call.claims, call.outputs)
        self.runner.release(hold=True)

    def finish(self) -> None:
        """Verify all outputs that are still kept."""
        self._check_watched()
        self._settle()

    def refuse_late_work(self, baseline: Runner) -> None:
        """Where the child copies its outputs out, that must take no longer than a baseline's copy.

        Work that was put off until the clock had stopped shows here.
        """
        mine, theirs = self.runner.copy_ns[-MIN_COPIES:], baseline.copy_ns[-MIN_COPIES:]
        if not mine or not theirs:
            return
        late_ns = statistics.median(mine) - statistics.median(theirs)
        if late_ns > max(LATE_NS, LATE_SHARE * statistics.median(theirs)):
            raise Refused(
                Status.TAMPERED,
                f"work goes on for {late_ns / 1e3:.0f} µs after it says that it is done",
            )

    def _settle(self) -> None:
        for draw, arguments, outputs in self._kept:
            self._judge(draw, outputs, arguments)
        self._kept.clear()

    def _check_watched(self) -> None:
        """An output that the caller still holds must not change with later calls."""
        if self._watched is None:
            return
        claims, before = self._watched
        self._watched = None
        now = self.runner.outputs_held(claims)
        if any(_differ(a, b) for a, b in zip(before, now, strict=True)):
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
                error, warnings = compare(outputs, expected)
            except WrongValues:
                expected = self.oracle.conditioned(draw, arguments, expected)
                error, warnings = compare(outputs, expected)
        except WrongValues as wrong:
            where = "" if draw.distribution == TASK else f"on {label}: "
            raise Refused(Status.WRONG_VALUES, where + str(wrong)) from None
        tally = self.tally
        tally.warn((*expected.warnings, *warnings))
        tally.distributions.append(draw.distribution)
        if error >= tally.max_error:
            tally.max_error = error
            tally.reference_error = expected.reference_error
            tally.allowed_error = max(expected.allowed, default=0.0)


def _differ(one: torch.Tensor, two: torch.Tensor) -> bool:
    return not torch.equal(torch.nan_to_num(one), torch.nan_to_num(two))
