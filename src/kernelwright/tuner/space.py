"""Space: the candidates that the rules can write for a task.

The tuner takes no candidate's text from anybody: it takes points of this space, whose text the
emitters write. A text that others wrote is tried only if ``admission`` admits it.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from kernelwright.compiler.codegen.outline import outline_of
from kernelwright.compiler.fuse.flow import Unsupported
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.trial import Outline, Trial
from kernelwright.proposers.rules.proposer import (
    OpenedTask,
    as_far_as_it_goes,
    first_proposals,
    moved,
    neighbours_of,
    written,
)
from kernelwright.tuner.similar import Winners, moves_apart

MOST_WINNERS, MOST_STEPS, MOST_MOVES = 4, 4, 8
"""Bounds of what is taken over from winners: of how many programs, for programs with how many
steps, and in how many moves of one knob. Every move writes the texts of all neighbours."""
N_SCHEDULES = 12
"""Number of an emitter's own schedules for each program."""
BEAM = 4
"""Number of leaders whose neighbours are tried."""


def is_tunable(proposal: Proposal) -> bool:
    """Return whether a proposal of the rules can be tried in the tuner's process.

    Those that torch.compile tunes take 10 to 50 seconds for their first call.
    """
    return "compile" not in proposal.schedule["kernels"]


class Space:
    """Yields every candidate once; the neighbours of leaders beside those of the rules' order."""

    def __init__(
        self, brief: Brief, winners: Winners | None = None, known: Iterable[Trial] = ()
    ) -> None:
        """``winners``: what won for other tasks; a search begins with their knobs. ``known``: the
        task's own trials; their fastest candidates come before all others."""
        self._brief, self._winners, self._known = brief, winners, [*known]
        self._first_ones: set[str] = set()
        self._lines: dict[str, Iterator[Proposal]] = {}
        self._seen: set[str] = set()
        self._untunable: list[Proposal] = []
        self._outlines: dict[tuple[str, str], Outline] = {}

    @cached_property
    def _opened(self) -> OpenedTask:
        return OpenedTask(self._brief)

    @cached_property
    def _first(self) -> Iterator[Proposal]:
        return self._with_winners(first_proposals(self._opened, N_SCHEDULES))

    def _with_winners(self, proposals: Iterator[Proposal]) -> Iterator[Proposal]:
        """Yield the proposals, and after the first of each program the same with the knobs of
        similar winners."""
        begun: set[str] = set()
        for place, proposal in enumerate(itertools.chain(self._fastest_known(), proposals)):
            if not place:
                self._first_ones.add(proposal.candidate.digest)
            yield proposal
            if self._winners and len(begun) < MOST_WINNERS and is_tunable(proposal):
                yield from as_far_as_it_goes(self._as_won(proposal, self._winners, begun))

    def _fastest_known(self) -> Iterator[Proposal]:
        """Yield today's texts of the fastest candidates of earlier searches."""
        timed = [trial for trial in self._known if trial.time_ns is not None]
        for trial in sorted(timed, key=lambda trial: trial.time_ns or 0.0)[:BEAM]:
            proposal = written(self._opened, trial.dialect, trial.schedule)
            if proposal is not None:
                self._first_ones.add(proposal.candidate.digest)
                yield proposal

    def _as_won(self, proposal: Proposal, winners: Winners, begun: set[str]) -> Iterator[Proposal]:
        outline = self.outline(proposal)
        wanted = winners.knobs(outline, proposal.candidate.dialect)
        if outline.digest in begun or not 0 < len(wanted) <= MOST_STEPS:
            return
        begun.add(outline.digest)
        with contextlib.suppress(Unsupported):
            distance = partial(moves_apart, wanted=wanted)
            other = moved(self._opened, proposal, distance, MOST_MOVES)
            self._first_ones.add(other.candidate.digest)
            yield replace(other, note=f"{other.note}, as in a similar program")

    def goes_first(self, proposal: Proposal) -> bool:
        """Whether a candidate is tried before others: the rules' first, and what similar programs
        won with."""
        return proposal.candidate.digest in self._first_ones

    def stream(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
        """Yield candidates that were not yielded before, on demand.

        Half of them are neighbours of the ``leaders``, as long as there are both kinds.

        Raises:
            CannotCapture: no part of the module can be captured.
            TaskError: the task cannot be opened.
        """
        mixed = _in_turn([self._near(leaders[:BEAM]), self._first])
        return (one for one in mixed if self._is_new(one) and self._is_tunable(one))

    def outline(self, proposal: Proposal) -> Outline:
        """Return the outline of the program that a candidate of this space is the text of."""
        variant, dialect = proposal.schedule["variant"], proposal.candidate.dialect
        if (variant, dialect) not in self._outlines:
            self._outlines[variant, dialect] = outline_of(self._opened.program_of(proposal))
        return self._outlines[variant, dialect]

    def untunable(self, until: float) -> Iterator[Proposal]:
        """Yield the candidates of the rules that cannot be tried, until the time ``until``."""
        while self._untunable:
            yield self._untunable.pop(0)
        for proposal in self._first:  # each text of a large network takes seconds
            if time.monotonic() > until:
                return
            if self._is_new(proposal) and not is_tunable(proposal):
                yield proposal

    def _near(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
        """Return neighbours of the leaders in turn; a leader's line goes on where it stopped."""
        for leader in leaders:
            digest = leader.candidate.digest
            if digest not in self._lines:
                self._lines[digest] = neighbours_of(self._opened, leader)
        return _in_turn([self._lines[leader.candidate.digest] for leader in leaders])

    def _is_new(self, proposal: Proposal) -> bool:
        """Note a proposal; return whether its candidate was not seen before."""
        digest = proposal.candidate.digest
        is_new = digest not in self._seen
        self._seen.add(digest)
        return is_new

    def _is_tunable(self, proposal: Proposal) -> bool:
        """Return whether a proposal can be tried; keep it for later if not."""
        if is_tunable(proposal):
            return True
        self._untunable.append(proposal)
        return False


def _in_turn(lines: list[Iterator[Proposal]]) -> Iterator[Proposal]:
    """Yield one proposal of each line after the other, each on demand."""
    while lines:
        for line in list(lines):
            proposal = next(line, None)
            if proposal is None:
                lines.remove(line)
            else:
                yield proposal
