"""The policy proposer: a trained model, asked with the prompts that it was trained on."""

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
    """Samples from checkpoints, or servers of them, with the swarm's prompts and its check of
    answers.

    Prompts show what training showed: the task, the device, and judged kernels of clearly different
    speeds. In a swarm of several models the same checkpoint is ``--proposer swarm --model
    hf:FOLDER``.
    """

    name = NAME

    def check(self, brief: Brief) -> None:
        """Check that there is a model, and that it can be asked.

        Raises:
            UsageError: no model is given, or it is neither a folder on this machine nor a server.
            ProposerError: a package or a key is missing.
        """
        SwarmProposer().check(_addressed(brief))

    def shares(self, brief: Brief) -> bool:
        """Whether a model runs on this machine, where it would disturb the judge's timing."""
        return SwarmProposer().shares(_addressed(brief))

    def propose(self, brief: Brief) -> Iterator[Proposal | Call]:
        """Run one round: sample answers together, and yield them with their proposals.

        Raises:
            ProposerError: the model cannot be asked.
        """
        for item in SwarmProposer().propose(_addressed(brief)):
            yield item if isinstance(item, Call) else replace(item, proposer=NAME)


def _addressed(brief: Brief) -> Brief:
    """Return the brief with the full name of every model and the context of training."""
    if not brief.models:
        raise UsageError(
            "the policy has no model", seen="no --model", do="add --model FOLDER, as trained"
        )
    named = tuple(map(_full_name, brief.models))
    return replace(brief, models=named, contexts=brief.contexts or (",".join(CONTEXT),))


def _full_name(name: str) -> str:
    """Return the name of a checkpoint's folder or of a server as the swarm has it."""
    if "://" in name:
        return name
    folder = Path(name.removeprefix(LOCAL)).expanduser()
    if not folder.is_dir():
        raise UsageError(
            f"no checkpoint at {folder}",
            seen="no such folder",
            do="name the folder that `kernelwright train` wrote, or a server's URL#NAME",
        )
    return LOCAL + name.removeprefix(LOCAL)
