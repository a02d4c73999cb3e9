"""Decides how many questions a round asks at once, by how many the endpoints answer together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief
from kernelwright.llm.endpoint import parse
from kernelwright.llm.ledger import MIN_CALL_S
from kernelwright.proposers.swarm.bandit import GENERATES

FIRST = 4
"""Questions in a run's first round, when no endpoint has been timed yet."""
MAX_HOSTED = 8
"""Maximum for hosted models, within the usual rate limits of new accounts."""
MAX_LOCAL = 64
"""Maximum for local models, the number of questions that a checkpoint answers together."""
PAYS = 1.25
"""Factor in answers per second from which a wider round pays. A smaller gain may be chance, and
questions that are asked at once cannot learn from one another."""
ROUND_SHARE = 1 / 3
"""Share of the remaining budget for one round, so that later rounds can learn from its verdicts."""


@dataclass
class _RoundTimes:
    """The times and counts of one round of this run."""

    began_s: float
    ended_s: float
    n_asked: int = 0
    n_answered: int = 0

    @property
    def pace(self) -> float:
        """Answers a second."""
        return self.n_answered / max(1e-3, self.ended_s - self.began_s)


def width(brief: Brief) -> int:
    """Return the number of questions to ask at once, at least the number of models.

    The number doubles while that pays by measured times. After that it is the smallest number with
    the best pace. It is bounded by the answers possible in the remaining time at that pace, and by
    what is left of judging time, tokens and money.
    """
    least = len(brief.models)
    is_local = all(parse(name).is_local for name in brief.models)
    most = max(least, MAX_LOCAL if is_local else MAX_HOSTED)
    calls = [call for call in brief.calls if call.id >= brief.since]
    rounds = _rounds(calls)
    if not rounds:
        return min(most, max(least, FIRST))
    best = max(each.pace for each in rounds)
    if best == 0:
        return least  # endpoints that do not answer are not asked more
    enough = min(each.n_asked for each in rounds if each.pace * PAYS >= best)
    is_widest = enough == max(each.n_asked for each in rounds if each.n_answered)
    wanted = 2 * enough if is_widest else enough
    in_time = best * max(brief.budget_s, MIN_CALL_S)
    return max(least, math.floor(min(most, wanted, in_time, _affordable(brief, calls))))


def _affordable(brief: Brief, calls: Sequence[Call]) -> float:
    """Return how many questions fit into a round's share of remaining time, tokens and money."""
    n_asked = sum(call.purpose in GENERATES for call in calls)
    ids = {call.id for call in calls}
    costs = [found.cost for proposal, found in brief.history if proposal.call in ids]
    spent = [
        (brief.budget_s, math.fsum(cost.build_s + cost.check_s + cost.time_s for cost in costs)),
        (brief.budget_tokens, sum(call.tokens for call in calls)),
        (brief.budget_usd, math.fsum(call.cost_usd or 0.0 for call in calls)),
    ]
    bounds = [ROUND_SHARE * left * n_asked / s for left, s in spent if left is not None and s > 0]
    return min(bounds, default=math.inf)


def _rounds(calls: Sequence[Call]) -> list[_RoundTimes]:
    """Group calls into rounds by their times: no round begins before the previous one is over."""
    times = [(int(call.id[:12], 16) / 1e3, call) for call in calls]
    found: list[_RoundTimes] = []
    for began_s, ended_s, call in sorted(
        ((ended_s - call.took_s, ended_s, call) for ended_s, call in times), key=lambda t: t[:2]
    ):
        if not found or began_s >= found[-1].ended_s:
            found.append(_RoundTimes(began_s, ended_s))
        last = found[-1]
        last.ended_s = max(last.ended_s, ended_s)
        last.n_asked += call.purpose in GENERATES
        last.n_answered += call.purpose in GENERATES and call.outcome is not Outcome.FAILED
    return [each for each in found if each.n_asked]
