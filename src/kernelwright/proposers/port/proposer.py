"""The ``port`` proposer: CUDA candidates of the archive, ported to HIP."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.hipify.finding import State
from kernelwright.hipify.python_text import translate_python


class PortProposer:
    """Proposes the HIP port of every ``cuda`` candidate in a brief that has no port there yet.

    On an AMD GPU these are the archived best candidates for the same task on NVIDIA GPUs. A port
    that leaves constructs unported is not proposed.
    """

    name = "port"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        if "hip" not in brief.dialects:
            return
        known = [exemplar.proposal for exemplar in brief.exemplars]
        known += [proposal for proposal, _ in (*brief.history, *brief.elsewhere)]
        ported = {proposal.parent for proposal in known if proposal.candidate.dialect == "hip"}
        for proposal in known:
            original = proposal.candidate
            if original.dialect != "cuda" or original.digest in ported:
                continue
            ported.add(original.digest)
            translation = translate_python(original.source)
            if translation.unported:
                continue
            yield Proposal(
                candidate=Candidate(translation.text, "hip", original.entry),
                proposer=self.name,
                lineage=proposal.lineage,
                schedule=proposal.schedule,
                parent=original.digest,
                note=f"ported from CUDA, {translation.count(State.REPAIRED)} repairs",
            )
