"""Checks of a candidate's outputs: before timing on many distributions, and during it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.core.evaluation import Numerics, Status
from kernelwright.judge.compare import WrongValues, compare
from kernelwright.judge.oracle import RANDOMISED, TASK, Draw, Oracle
from kernelwright.judge.runner import Refused, Runner

VERIFIED_SHARE = 0.3
"""Of the timed calls, drawn after each call; the first is always verified. A cheat in most of
the calls, as it must be to move a median, escapes 7 rounds with probability below 0.65^4."""


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
        self._watched: tuple[list[Any], list[torch.Tensor]] | None = None

    def run(self, draw: Draw, *, limit_s: float) -> int | None:
        """One checked call; its wall nanoseconds, or None where the reference has no answer."""
        arguments = self.oracle.arguments(draw)
        expected = self.oracle.expected(draw, arguments)
        if expected is None:
            return None
        self.runner.put(arguments)
        elapsed_ns, described = self.runner.call(limit_s=limit_s)
        outputs = self._take(described, arguments)
        self.runner.release(hold=self._watched is None)
        if self._watched is None:
            self._watched = (described, outputs)
        self._judge(draw, outputs, arguments)
        return elapsed_ns

    def start(self, draw: Draw, arguments: list[Any]) -> Callable[[list[Any]], bool]:
        """What to do with the outputs of a timed call, decided after the call was made."""

        def inspect(described: list[Any]) -> bool:
            if self._kept and self._coin.random() > VERIFIED_SHARE:
                return False
            outputs = self._take(described, arguments)
            hold = self._watched is None
            if hold:
                self._watched = (described, outputs)
            self._kept.append((draw, arguments, outputs))
            return hold

        return inspect

    def finish(self) -> None:
        """Verify the outputs that were kept from timed calls."""
        self._check_watched()
        for draw, arguments, outputs in self._kept:
            self._judge(draw, outputs, arguments)
        self._kept.clear()

    def _take(self, described: list[Any], arguments: list[Any]) -> list[torch.Tensor]:
        self._check_watched()
        if self.runner.changed_arguments(arguments) and not self.oracle.mutates_arguments:
            raise Refused(Status.REJECTED, "it writes to its inputs, which the reference does not")
        return self.runner.fetch(described, self.oracle.example)

    def _check_watched(self) -> None:
        """An output that the caller still holds must not change with later calls."""
        if self._watched is None:
            return
        described, before = self._watched
        self._watched = None
        now = self.runner.fetch(described, self.oracle.example)
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
