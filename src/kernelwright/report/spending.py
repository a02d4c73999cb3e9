"""What models were asked for a task, what came of it and what it cost, model by model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.archive.ranking import Pair, latest, wins
from kernelwright.core.call import Call, Outcome

ALL = "all models"
ADVISE, REFORMAT = "advise", "reformat"
"""Purposes of calls that ask for no kernel of their own."""


@dataclass(frozen=True)
class Spending:
    """The calls of one model, or of all."""

    model: str
    n_asked: int
    """How often it was asked for a kernel."""
    n_other: int
    """Further calls: advice, and answers sent back for their form."""
    n_unanswered: int
    """Refused, cut off or failed, of all calls."""
    n_judged: int
    n_passed: int
    n_won: int
    """Judged candidates from its answers: those that passed, those faster than the library."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where the price of a call is unknown."""
    took_s: float

    @property
    def success(self) -> str:
        """'3 of 10 (30 %)': kernels that passed, of those asked for."""
        if self.n_asked == 0:
            return "–"
        return f"{self.n_passed} of {self.n_asked} ({100 * self.n_passed / self.n_asked:.0f} %)"

    @property
    def cost_text(self) -> str:
        """The money in USD with the digits that it needs."""
        if self.cost_usd is None:
            return "price unknown"
        return f"{self.cost_usd:.2f}" if self.cost_usd >= 1 else f"{self.cost_usd:.4f}"


def spending(calls: Sequence[Call], history: Iterable[Pair]) -> list[Spending]:
    """One row per model, the most asked first, then all of them where there are several.

    Not covered: which of several devices a call was made for; all calls for the task count.
    """
    pairs = [pair for pair in latest(history) if pair[0].call is not None]
    models = sorted({c.model for c in calls}, key=lambda m: -sum(c.model == m for c in calls))
    rows = [_row(model, [c for c in calls if c.model == model], pairs) for model in models]
    return rows if len(rows) < 2 else [*rows, _row(ALL, calls, pairs)]


def _row(model: str, calls: Sequence[Call], pairs: Sequence[Pair]) -> Spending:
    ids = {call.id for call in calls}
    mine = [found for proposal, found in pairs if proposal.call in ids]
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    n_other = sum(call.purpose in (ADVISE, REFORMAT) for call in calls)
    return Spending(
        model=model,
        n_asked=len(calls) - n_other,
        n_other=n_other,
        n_unanswered=sum(call.outcome is not Outcome.ANSWERED for call in calls),
        n_judged=len(mine),
        n_passed=sum(found.passed for found in mine),
        n_won=sum(map(wins, mine)),
        input_tokens=sum(call.input_tokens for call in calls),
        output_tokens=sum(call.output_tokens for call in calls),
        cost_usd=math.fsum(costs) if len(costs) == len(calls) else None,
        took_s=math.fsum(call.took_s for call in calls),
    )
