"""The interfaces of proposers, which read a Brief and yield proposals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Proposal


class Proposer(Protocol):
    """A proposer keeps no state: the same brief gives the same proposals, in the same order.

    The search calls ``propose`` once a round. In the first round the brief has no exemplars. Later
    briefs show the best and some of the failed candidates so far, which the proposer refines. An
    iterator that yields nothing says that there is nothing left to try from this brief.
    """

    name: str

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        """Yield proposals, the most promising first. The caller may stop at any point.

        A generator may return a text that says why it has nothing to propose.

        Raises:
            ProposerError: the brief cannot be answered at all.
        """
        ...


@runtime_checkable
class WaitingProposer(Protocol):
    """A proposer that waits for others, and pays for their answers in time, tokens or money.

    The search runs it in a separate thread, so that candidates are judged while it waits.
    """

    name: str

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """Yield every call as it ends, followed by its proposal. One brief gives one round.

        An answer in ``brief.calls`` is used and not paid for again. No call is begun that the
        remaining budget of the brief does not allow. A round without a call is the last one.

        Raises:
            ProposerError: a model cannot be asked at all.
        """
        ...

    def check(self, brief: Brief) -> None:
        """Check that everything is present that the proposer needs, before anything is paid for.

        Raises:
            ProposerError: a package, a key or a model is missing.
            UsageError: the brief lacks something that the proposer needs.
        """
        ...

    def shares(self, brief: Brief) -> bool:
        """Whether its models run on the device that candidates are timed on."""
        ...
