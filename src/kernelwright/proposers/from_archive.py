"""Proposes what won in another environment, or before another judge: judged again, not assumed."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Proposal


class CarriedProposer:
    """What the archive holds for the task from elsewhere, as far as it can run here."""

    name = "carried"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        """Each once, the best of every device and dialect first."""
        for proposal, _ in brief.elsewhere:
            if proposal.candidate.dialect in brief.dialects:
                yield proposal
