"""The interface of proposers: anything that reads a Brief and yields proposals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kernelwright.core.candidate import Brief, Proposal


class Proposer(Protocol):
    """A proposer keeps no state: the same brief gives the same proposals, in the same order.

    The search calls ``propose`` once a round. With no exemplars in the brief it is the first
    round; later briefs show the best and the failed of what was judged so far, and the proposer
    refines. An iterator that yields nothing means: nothing left to try from this brief.
    """

    name: str

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        """Yield proposals, the most promising first. May be abandoned at any point.

        Raises:
            ProposerError: the brief cannot be answered at all.
        """
        ...
