"""How many questions a round asks at once: as many as the endpoints are seen to answer together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief
from kernelwright.llm.endpoint import parse
from kernelwright.llm.ledger import MIN_CALL_S
from kernelwright.proposers.swarm.bandit import GENERATES

FIRST = 4  # of a run's first round: nobody has been timed yet
MAX_HOSTED = 8  # what common rate limits of new accounts bear
MAX_LOCAL = 64  # as many as a checkpoint answers together
PAYS = 1.25  # times as many answers a second: less may be chance, and more at once learn less
ROUND_SHARE = 1 / 3  # of what is left, for one round: later ones learn from its verdicts


@dataclass
class _Round:
    """What one round of this run came to."""

    began_s: float
    ended_s: float
    n_asked: int = 0
    n_answered: int = 0

    @property
    def pace(self) -> float:
        """Answers a second."""
        return self.n_answered / max(1e-3, self.ended_s - self.began_s)


def width(brief: Brief) -> int:
    """Questions to ask at once, as many as there are models at least.

    Twice as many as in the widest round while that pays, by measured times; then the fewest that
    are answered as fast, and no more than are answered at that pace in the time left. What is
    left of time to judge, of tokens and of money bounds it too.
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
        return least  # who does not answer is not asked more
    enough = min(each.n_asked for each in rounds if each.pace * PAYS >= best)
    is_widest = enough == max(each.n_asked for each in rounds if each.n_answered)
    wanted = 2 * enough if is_widest else enough
    in_time = best * max(brief.budget_s, MIN_CALL_S)
    return max(least, math.floor(min(most, wanted, in_time, _affordable(brief, calls))))


def _affordable(brief: Brief, calls: Sequence[Call]) -> float:
    """Questions whose verdicts and tokens take a round's share of what is left."""
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


def _rounds(calls: Sequence[Call]) -> list[_Round]:
    """By when calls began and ended: no round begins before the last is over."""
    times = [(int(call.id[:12], 16) / 1e3, call) for call in calls]
    found: list[_Round] = []
    for began_s, ended_s, call in sorted(
        ((ended_s - call.took_s, ended_s, call) for ended_s, call in times), key=lambda t: t[:2]
    ):
        if not found or began_s >= found[-1].ended_s:
            found.append(_Round(began_s, ended_s))
        last = found[-1]
        last.ended_s = max(last.ended_s, ended_s)
        last.n_asked += call.purpose in GENERATES
        last.n_answered += call.purpose in GENERATES and call.outcome is not Outcome.FAILED
    return [each for each in found if each.n_asked]
