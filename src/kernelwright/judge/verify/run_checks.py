"""Runs the checks that apply to a task on one candidate after the other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.checks import OWN_WEIGHTS, Draw, derive_seed
from kernelwright.judge.checks.registry import AFTER_OWN, PLAIN
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.runner import Runner
from kernelwright.judge.verify.causes import with_cause
from kernelwright.judge.verify.verification import Turn, Verification

ORACLE_BUDGET_S = 10.0
"""Seconds of the reference's own runs, once per task; then the remaining checks are left out."""
FEWEST_DRAWS = 8
"""Checked calls that are made however slow the reference is."""
N_REPEATED = 2
"""Inputs on which calls are repeated."""


class Clock(Protocol):
    """Calls a candidate: the judge's stopwatch."""

    limit_s: float

    @property
    def checked_call(self) -> Turn: ...


class SharedDevice(Protocol):
    """Lets calls that are not timed run beside others: the judge's device lock."""

    def shared(self, runner: Runner) -> AbstractContextManager[Any]:
        """Use the device for a runner's calls."""


class CheckPlan:
    """The draws of one task's checks, in order; alike for every candidate."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        own = [OWN_WEIGHTS] if OWN_WEIGHTS.applies(oracle.profile) else []
        self.draws = [
            Draw(check, derive_seed(oracle.secret, check.id, 0) + turn, turn)
            for check in (*own, *AFTER_OWN)
            if check.applies(oracle.profile)
            for turn in range(check.n_turns(oracle.profile))
        ]
        """All but the task's own inputs; fewer as soon as the reference has proved to be slow."""
        self._n_before = len(own)
        self._left_out: list[str] = []

    def run(
        self, verification: Verification, clock: Clock, device_lock: SharedDevice, is_crowded: bool
    ) -> None:
        """Check one candidate; ``is_crowded``: there is no memory to keep results in.

        The task's own inputs come first, with its own weights and then with others, so that a
        refusal is explained by what little it takes.

        Raises:
            Refused: a check refuses it; later ones are not run.
        """
        repeated: dict[Draw, list[torch.Tensor]] = {}
        for number, draw in enumerate(self.all_draws()):
            if number > FEWEST_DRAWS and self._is_slow():
                self._leave_out(number - 1)
                break
            with _beside(verification, device_lock):
                outputs = self._check(verification, draw, clock, is_own=number <= self._n_before)
            if outputs and draw.check in PLAIN and not is_crowded and len(repeated) < N_REPEATED:
                repeated[draw] = outputs
            del outputs  # no need to hold it beside the next one's float64
        with _beside(verification, device_lock):
            if not repeated:  # memory is scarce: one more call gives a result to repeat
                first = self._oracle.first
                repeated[first] = verification.run(first, clock.checked_call)
            verification.runner.end_filling()
            verification.repeat(repeated, limit_s=clock.limit_s)
            verification.finish()
        if self._left_out:
            names = ", ".join(dict.fromkeys(self._left_out))
            told = f"the reference is slow: not checked on {names} inputs"
            verification.tally.warn([Warned(WarningCode.NOT_CHECKED, told)])

    def all_draws(self) -> list[Draw]:
        """The draws of all checks, the task's own inputs among the first."""
        return [*self.draws[: self._n_before], self._oracle.first, *self.draws[self._n_before :]]

    def _is_slow(self) -> bool:
        return self._oracle.expectations.spent.seconds > ORACLE_BUDGET_S

    def _leave_out(self, start: int) -> None:
        """Leave out the draws from ``start`` on, for later candidates too: all are checked
        alike."""
        self._left_out += [draw.name for draw in self.draws[start:]]
        del self.draws[start:]

    def _check(
        self, verification: Verification, draw: Draw, clock: Clock, *, is_own: bool
    ) -> list[torch.Tensor]:
        try:
            outputs = verification.run(draw, clock.checked_call)
        except Refused as refused:
            if not is_own:
                raise
            raise with_cause(refused, draw, verification, clock.checked_call) from None
        if draw == self._oracle.first and self._oracle.other_draws:
            for other in self._oracle.other_draws:
                verification.visit(other, clock.checked_call)
            verification.come_home(clock.checked_call)
        return outputs


def _beside(verification: Verification, device_lock: SharedDevice) -> AbstractContextManager[Any]:
    """Share the device with other calls that are not timed."""
    return device_lock.shared(verification.runner)
