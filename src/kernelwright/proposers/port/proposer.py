"""The ``port`` proposer: CUDA candidates of the archive, ported to HIP and to Metal."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.hipify import State, translate_python
from kernelwright.hipify.metal import metal_of_python

PORTS = {"hip": translate_python, "metal": metal_of_python}
"""By dialect: the translation of a candidate in CUDA."""


class PortProposer:
    """Proposes the port of every ``cuda`` candidate in a brief that has no port there yet.

    On an AMD or an Apple GPU these are the archived best candidates for the same task on NVIDIA
    GPUs. A port that leaves constructs unported is not proposed.
    """

    name = "port"

    def propose(self, brief: Brief) -> Iterator[Proposal]:
        known = [exemplar.proposal for exemplar in brief.exemplars]
        known += [proposal for proposal, _ in (*brief.history, *brief.elsewhere)]
        for dialect in filter(PORTS.__contains__, brief.dialects):
            yield from _ports(dialect, known)


def _ports(dialect: str, known: list[Proposal]) -> Iterator[Proposal]:
    """Yield the ports to one dialect."""
    translated = PORTS[dialect]
    ported = {proposal.parent for proposal in known if proposal.candidate.dialect == dialect}
    for proposal in known:
        original = proposal.candidate
        if original.dialect != "cuda" or original.digest in ported:
            continue
        ported.add(original.digest)
        translation = translated(original.source)
        if translation.unported:
            continue
        n_repairs = translation.count(State.REPAIRED)
        yield Proposal(
            candidate=Candidate(translation.text, dialect, original.entry),
            proposer=PortProposer.name,
            lineage=proposal.lineage,
            schedule=proposal.schedule,
            parent=original.digest,
            note="ported from CUDA" + (f", {n_repairs} repairs" if dialect == "hip" else ""),
        )
