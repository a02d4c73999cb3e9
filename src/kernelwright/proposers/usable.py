"""Checks that the proposers that a user asks for can work on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.core import plugins
from kernelwright.core.candidate import Brief
from kernelwright.core.errors import UsageError
from kernelwright.proposers.base import WaitingProposer


def check_proposers(brief: Brief, names: Sequence[str]) -> None:
    """Check that the proposers have everything they need, before time or money is spent.

    Raises:
        UsageError: there is no such proposer, or models are given that no proposer asks.
        ProposerError: a package, a key or a model is missing.
    """
    found = [plugins.find("kernelwright.proposers", name) for name in names]
    waiting = [proposer for proposer in found if isinstance(proposer, WaitingProposer)]
    for proposer in waiting:
        proposer.check(brief)
    if brief.models and not waiting:
        raise UsageError(
            "models are given, but no proposer asks them",
            seen=f"--model {' --model '.join(brief.models)}; proposers {', '.join(names)}",
            do="add --proposer swarm",
        )
