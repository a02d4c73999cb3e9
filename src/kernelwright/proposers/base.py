"""The interfaces of proposers: anything that reads a Brief and yields proposals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from kernelwright.core.call import Call
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

        A generator may return a text: why it has nothing to propose.

        Raises:
            ProposerError: the brief cannot be answered at all.
        """
        ...


@runtime_checkable
class WaitingProposer(Protocol):
    """A proposer that asks others, and pays for their answers in time, tokens or money.

    The search pulls it in a thread of its own, so that candidates are judged while it waits.
    """

    name: str

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """Yield every call as it ends, and what it proposes after it. One round for one brief.

        An answer found in ``brief.calls`` is used, not paid for again. No call is begun that the
        budget left in the brief does not allow. A round without a call is the last.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        ...

    def check(self, brief: Brief) -> None:
        """See, before anything is paid for, that what it needs is here.

        Raises:
            ProposerError: a package, a key or a model is missing.
            UsageError: the brief does not say what is needed.
        """
        ...

    def shares(self, brief: Brief) -> bool:
        """Whether its models run on the device that candidates are timed on."""
        ...
