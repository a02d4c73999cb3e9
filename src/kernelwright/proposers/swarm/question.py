"""What is asked next: a first kernel, the repair of a wrong one, or a faster one."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kernelwright.core import plugins
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status

N_REPAIRS = 2  # of one candidate; then it is given up
REPAIR_SHARE = 0.7  # of the questions where something can be repaired; the rest begin anew
BEST_SHARE = 0.7  # of the optimisations that start from the best; the rest from another that passed
BLAMELESS = (Status.INFRA_ERROR,)


@dataclass(frozen=True)
class Question:
    """One thing to ask a generator."""

    purpose: str
    """'write', 'repair' or 'optimise'."""
    dialect: str
    parent: tuple[Proposal, Evaluation] | None = None
    """What is to be repaired or improved."""


def next_question(brief: Brief, number: int, draw: random.Random) -> Question | None:
    """The question with this number since the task was first tried; dialects take turns.

    Until a candidate in the dialect is right, it is written or repaired; from then on the right
    ones are made faster. None where nothing is left to ask: what is not timed need only be right.
    """
    own = [name for name in brief.dialects if name != "torch"] or list(brief.dialects)
    own = [name for name in own if not _is_done(brief, name)]
    if not own:
        return None
    dialect = own[number % len(own)]
    last = {p.candidate.digest: (p, found) for p, found in brief.history}
    here = [pair for pair in last.values() if pair[0].candidate.dialect == dialect]
    passed = sorted((pair for pair in here if pair[1].passed), key=_slowness)
    if passed:
        parent = passed[0] if draw.random() < BEST_SHARE else draw.choice(passed)
        return Question("optimise", dialect, parent)
    tried = [call.parent for call in brief.calls if call.purpose == "repair"]
    broken = [
        (p, found)
        for p, found in here
        if p.call is not None
        and found.status not in BLAMELESS
        and tried.count(p.candidate.digest) < N_REPAIRS
    ]
    if broken and draw.random() < REPAIR_SHARE:
        return Question("repair", dialect, broken[-1])
    return Question("write", dialect)


def _is_done(brief: Brief, dialect: str) -> bool:
    """Whether something in the dialect is right, and nobody would see that another is faster."""
    if not any(p.candidate.dialect == dialect and found.passed for p, found in brief.history):
        return False
    written = plugins.find("kernelwright.dialects", dialect)
    return not (brief.timed and written.is_timed(brief.device))


def _slowness(pair: tuple[Proposal, Evaluation]) -> float:
    speedup = pair[1].speedup
    return 0.0 if speedup is None else -speedup.low
