"""The rules proposer: rewrites PyTorch's graph by rules, fuses it, and emits it in a dialect."""

from __future__ import annotations

from collections.abc import Generator

from kernelwright.core.candidate import Brief, Proposal


class RulesProposer:
    """Rewrites, fuses and emits. The compiler and torch are imported by the first proposal."""

    name = "rules"

    def propose(self, brief: Brief) -> Generator[Proposal, None, str]:
        """Yield proposals, the most promising first; the same brief gives the same proposals.

        Raises:
            TaskError: the task cannot be opened.
        """
        from kernelwright.proposers.rules.proposer import proposals

        return proposals(brief)
