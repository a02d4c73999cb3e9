"""Which version of the emitters wrote a candidate's text."""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.core.candidate import Proposal

EMITTER_VERSION = 6
"""Raised with every change to emitted files that mends a fault: what older ones wrote is not handed
back as best. The first wrote no mark."""
MARK = "emitters"
"""The name of the version in a proposal's schedule."""
FREE_SIZES, WHY_FIXED = "free sizes", "why fixed"
"""The names of two more facts in a schedule: the sizes that a call may choose, and why nobody has
looked which could be free, where that is so."""
EMITTING = "rules"
"""The proposer whose candidates the emitters write."""


def is_outdated(proposal: Proposal) -> bool:
    """Whether an older version of the emitters wrote the proposal's candidate."""
    version = proposal.schedule.get(MARK, 1)
    return proposal.proposer == EMITTING and version != EMITTER_VERSION


def outdated(proposals: Iterable[Proposal]) -> set[str]:
    """The digests of the candidates that only older versions of the emitters wrote."""
    older: set[str] = set()
    others: set[str] = set()
    for proposal in proposals:
        (older if is_outdated(proposal) else others).add(proposal.candidate.digest)
    return older - others
