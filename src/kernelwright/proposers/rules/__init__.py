"""The rules proposer: PyTorch's graph, rewritten by rules, fused, and emitted in a dialect."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Proposal


class RulesProposer:
    """Rewrites, fuses and emits. The machinery, and torch, are loaded by the first proposal."""

    name = "rules"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        """Proposals, the most promising first; the same brief gives the same ones.

        Raises:
            TaskError: the task cannot be opened.
        """
        from kernelwright.proposers.rules.proposer import proposals

        return proposals(brief)
