"""Proposes winners of other environments and of earlier judges, which are judged again."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Proposal
from kernelwright.proposers.emitted import is_outdated


class CarriedProposer:
    """Proposes a task's archived candidates from elsewhere, as far as they can run here."""

    name = "carried"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        """Yield each candidate once, the best of every device and dialect first.

        What older emitters wrote is left out: today's write it anew.
        """
        for proposal, _ in brief.elsewhere:
            if proposal.candidate.dialect in brief.dialects and not is_outdated(proposal):
                yield proposal
