"""Chooses which model to ask with which context, by Thompson sampling over earlier calls' results.

Source:
    Thompson 1933, Biometrika 25; Chapelle & Li 2011, An empirical evaluation of Thompson sampling.
"""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief
from kernelwright.core.evaluation import Evaluation

GENERATES = ("write", "repair", "optimise")
PASSED_REWARD = 0.3
"""Reward of a kernel that is correct, but no faster than the one that it was to improve."""
ELSEWHERE_WEIGHT = 0.25
"""Weight of a call on another task of the same kind, relative to a call on this task."""
N_FAILURES = 3
"""Failed calls in a row after which an arm is not used for the rest of the run."""
KINDS = {  # kinds of tasks with patterns in their sources; the first that matches counts
    "attention": r"attention|softmax\([^)]*\)\s*@|multihead",
    "convolution": r"conv\w*\(|Conv\d",
    "product": r"matmul|Linear\(|linear\(|bmm|einsum|mm\(|\s@\s",
    "recurrence": r"\b(RNN|LSTM|GRU)\b|cumsum|cumprod",
    "reduction": r"norm\w*\(|Norm|softmax|\bsum\(|mean\(|max\(|min\(|Pool|_pool|loss|Loss",
}


@dataclass(frozen=True)
class Arm:
    """A model with a set of context parts that its prompts may show."""

    model: str
    context: tuple[str, ...]


def kind_of(source: str) -> str:
    """Return the kind of a task by its source: a key of ``KINDS``, or 'pointwise'."""
    return next((kind for kind, words in KINDS.items() if re.search(words, source)), "pointwise")


def choose(brief: Brief, arms: Sequence[Arm], draw: random.Random) -> Arm | None:
    """Return the arm with the highest sampled reward per cost; None if every arm rests."""
    awake = [arm for arm in arms if not _rests(brief, arm)]
    costs = {arm: _cost(brief, arm) for arm in awake}
    known = [cost for cost in costs.values() if cost is not None]
    usual = statistics.fmean(known) if known else 1.0
    return max(
        awake,
        key=lambda arm: _sampled(brief, arm, draw) / (costs[arm] or usual),
        default=None,
    )


def reward(call: Call, brief: Brief) -> float:
    """Return the reward of a call: 1 for a first correct kernel or a faster one, 0 for a wrong one.

    A call without a verdict gives 0 as well, since its money is spent.
    """
    verdicts = {p.candidate.digest: found for p, found in brief.history}
    mine = [found for p, found in brief.history if p.call in _ids(call, brief.calls)]
    if not mine or not mine[-1].passed:
        return 0.0
    if call.purpose != "optimise":
        return 1.0
    return 1.0 if _speed(mine[-1]) > _speed(verdicts.get(call.parent or "")) else PASSED_REWARD


def _ids(call: Call, calls: Sequence[Call]) -> set[str]:
    """Return the ids of a call and of the call that corrected its form, if any.

    In the second case the proposal came from the correcting call.
    """
    return {call.id, *(other.id for other in calls if other.follows == call.id)}


def _speed(found: Evaluation | None) -> float:
    return found.speedup.median if found is not None and found.speedup is not None else 0.0


def _mine(brief: Brief, arm: Arm) -> list[Call]:
    return [
        call
        for call in brief.calls
        if (call.model, call.context) == (arm.model, arm.context) and call.purpose in GENERATES
    ]


def _sampled(brief: Brief, arm: Arm, draw: random.Random) -> float:
    """Draw from the Beta posterior of the arm's reward, which has a uniform prior."""
    rewards = [reward(call, brief) for call in _mine(brief, arm)]
    kind = kind_of(brief.task.source)
    others = [
        past.passed
        for past in brief.past_calls
        if (past.model, past.context) == (arm.model, arm.context)
        and kind_of(past.task_source) == kind
    ]
    won = sum(rewards) + ELSEWHERE_WEIGHT * sum(others)
    lost = len(rewards) + ELSEWHERE_WEIGHT * len(others) - won
    return draw.betavariate(1 + won, 1 + lost)


def _cost(brief: Brief, arm: Arm) -> float | None:
    """Return the mean cost of the arm's calls in what the budget limits: money, tokens or time."""
    calls = [call for call in _mine(brief, arm) if call.outcome is not Outcome.FAILED]
    if brief.budget_usd is not None:
        costs = [call.cost_usd or 0.0 for call in calls]
    elif brief.budget_tokens is not None:
        costs = [float(call.tokens) for call in calls]
    else:
        costs = [call.took_s for call in calls]
    return statistics.fmean(costs) or None if costs else None


def _rests(brief: Brief, arm: Arm) -> bool:
    last = [call for call in _mine(brief, arm) if call.id >= brief.since][-N_FAILURES:]
    return len(last) == N_FAILURES and all(call.outcome is Outcome.FAILED for call in last)
