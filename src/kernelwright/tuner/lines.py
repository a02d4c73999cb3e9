"""Other schedules of a program that has a schedule line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kernelwright.core import schedule_line
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.schedule_line import LINE, OF

NEAR_SHARE = 1 / 3
"""Share of the schedules that are neighbours of the program's own; the others are random."""


def under(proposal: Proposal, schedule: schedule_line.Schedule) -> Proposal:
    """Return a proposal with another schedule line."""
    candidate = proposal.candidate
    source = schedule_line.rewritten(candidate.source, schedule)
    return replace(
        proposal,
        candidate=Candidate(source, candidate.dialect, candidate.entry),
        schedule={LINE: dict(schedule), OF: candidate.digest},
        note=f"{proposal.note}, schedule: {schedule_line.written(schedule)}".removeprefix(", "),
    )


def schedules(source: str, n: int, seed: str) -> Iterator[dict[str, schedule_line.Value]]:
    """Yield at most ``n`` schedules for a program: its own, neighbours of it, and random ones."""
    own, draw = schedule_line.read(source), random.Random(seed)
    near = [*filter(schedule_line.fits, schedule_line.neighbours(own))]
    near = draw.sample(near, min(len(near), int(NEAR_SHARE * n)))
    drawn = (schedule_line.drawn([*own], draw) for _ in range(20 * n))
    seen: list[dict[str, schedule_line.Value]] = []
    for schedule in (own, *near, *drawn):
        if len(seen) < n and schedule not in seen:
            seen.append(schedule)
            yield schedule
