"""Chooses the next question: a first kernel, the repair of a wrong one, or a faster one."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kernelwright.core import plugins
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status

N_REPAIRS = 2
"""Attempts to repair one candidate before it is given up."""
REPAIR_SHARE = 0.7
"""Probability of a repair if something can be repaired; otherwise a new kernel is written."""
BEST_SHARE = 0.7
"""Probability that an optimisation starts from the best kernel instead of another correct one."""
BLAMELESS = (Status.INFRA_ERROR,)
"""Statuses that say nothing against a candidate."""


@dataclass(frozen=True)
class Question:
    """A question for a generator."""

    purpose: str
    """'write', 'repair' or 'optimise'."""
    dialect: str
    parent: tuple[Proposal, Evaluation] | None = None
    """The candidate to repair or to improve, with its verdict."""


def next_question(brief: Brief, number: int, draw: random.Random) -> Question | None:
    """Return question ``number`` about the task; the dialects take turns.

    Until a candidate in the dialect is correct, kernels are written or repaired; after that the
    correct ones are made faster. None means that there is nothing left to ask: a dialect that is
    not timed is done with its first correct kernel.
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
    """Whether the dialect has a correct kernel and is not timed, so that speed does not matter."""
    if not any(p.candidate.dialect == dialect and found.passed for p, found in brief.history):
        return False
    written = plugins.find("kernelwright.dialects", dialect)
    return not (brief.timed and written.is_timed(brief.device))


def _slowness(pair: tuple[Proposal, Evaluation]) -> float:
    speedup = pair[1].speedup
    return 0.0 if speedup is None else -speedup.low
