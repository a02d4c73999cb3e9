"""The ``port`` proposer: CUDA candidates of an archive, ported to HIP."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.propose.port.finding import State
from kernelwright.propose.port.python_text import translate_python


class PortProposer:
    """Proposes the HIP port of every ``cuda`` exemplar that has none in the brief yet.

    A port that would leave constructs unported is not proposed.
    """

    name = "port"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        if "hip" not in brief.dialects:
            return
        ported = {exemplar.proposal.parent for exemplar in brief.exemplars}
        for exemplar in brief.exemplars:
            original = exemplar.proposal.candidate
            if original.dialect != "cuda" or original.digest in ported:
                continue
            translation = translate_python(original.source)
            if translation.unported:
                continue
            yield Proposal(
                candidate=Candidate(translation.text, "hip", original.entry),
                proposer=self.name,
                lineage=exemplar.proposal.lineage,
                schedule=exemplar.proposal.schedule,
                parent=original.digest,
                note=f"ported from CUDA, {translation.count(State.REPAIRED)} repairs",
            )
