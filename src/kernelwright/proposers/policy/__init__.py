"""The policy proposer: a trained checkpoint, asked with the prompts that it was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.errors import UsageError
from kernelwright.proposers.swarm import SwarmProposer

NAME = "policy"
LOCAL = "hf:"
CONTEXT = ("reference", "exemplars", "device")
"""The parts of the context that training shows. Parts that a policy never saw would confuse it."""


class PolicyProposer:
    """Samples from local checkpoints with the swarm's prompts and its check of answers.

    In a swarm of several models the same checkpoint is ``--proposer swarm --model hf:FOLDER``.
    """

    name = NAME

    def check(self, brief: Brief) -> None:
        """Check that there is a checkpoint, and that it can be run.

        Raises:
            UsageError: no model is given, or it is not a folder on this machine.
            ProposerError: a package is missing.
        """
        SwarmProposer().check(_addressed(brief))

    def shares(self, brief: Brief) -> bool:
        """Always: a checkpoint runs on this machine."""
        return True

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """Run one round: sample answers together, and yield them with their proposals.

        Raises:
            ProposerError: the checkpoint cannot be run.
        """
        for item in SwarmProposer().propose(_addressed(brief)):
            yield item if isinstance(item, Call) else replace(item, proposer=NAME)


def _addressed(brief: Brief) -> Brief:
    """Return the brief with the full name of every model and the context of training."""
    if not brief.models:
        raise UsageError(
            "the policy has no checkpoint", seen="no --model", do="add --model FOLDER, as trained"
        )
    for name in brief.models:
        folder = Path(name.removeprefix(LOCAL)).expanduser()
        if not folder.is_dir():
            raise UsageError(
                f"no checkpoint at {folder}",
                seen="no such folder",
                do="name the folder that `kernelwright train` wrote; --proposer swarm asks servers",
            )
    named = tuple(LOCAL + name.removeprefix(LOCAL) for name in brief.models)
    return replace(brief, models=named, contexts=brief.contexts or (",".join(CONTEXT),))
